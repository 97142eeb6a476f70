"""Share of each hour in a day's orders, estimated from the hours of past days.

A depot's counts of eight weeks are shrunk towards its city's, and a city's towards the fleet's, by
a Dirichlet-multinomial: the prior weighs as much as `concentration` orders, a number estimated from
how far the counts deviate from the prior beyond chance. The weekdays are split into two groups with
different shapes, such as working days and weekend; each weekday is shrunk towards its group.

A special day (a holiday or a rare event) takes the shape of past days of its kind, expressed as a
ratio to the weekday whose shape fits them best; the ratio is the same at all depots.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Shaped

from forecaster.data.calendar import CLOSED, HOLIDAY, NAMED_HOLIDAY
from forecaster.data.dates import weekdays
from forecaster.data.panel import Panel

HOURS = 24
WINDOW_DAYS = 56
"""Past days used for the shares; 84 and 112 days, and weights by age, were no better (lab book)."""
MAX_SPECIAL_SHARE = 0.08
"""Share of days above which an event counts as usual, not as special."""
SPECIAL_HISTORY_DAYS = 400
"""Days searched for past special days: a year, plus the shift of Easter."""
MAX_SPECIAL_DAYS = 10
"""Maximum number of past days read per special kind; the newest are read."""
MIN_CONCENTRATION, MAX_CONCENTRATION = 1.0, 1e5
ORDINARY = -1
"""Kind number of a day that is not special."""


@dataclass(frozen=True)
class SpecialDays:
    """Holidays and rare events of a panel's last days and of the days ahead.

    Attributes:
      names: Kinds, holidays first.
      first_on: Day of the first column.
      kind_dt: Number of each special day's kind; ORDINARY on other days.
    """

    names: tuple[str, ...]
    first_on: np.datetime64
    kind_dt: Int[np.ndarray, "depot time_ahead"]

    @classmethod
    def of(cls, panel: Panel) -> "SpecialDays":
        """Finds the special days in the calendar known at the panel's origin."""
        recent = panel.last(SPECIAL_HISTORY_DAYS)
        calendar = recent.calendar
        kinds = [kind for kind in calendar.kinds if kind not in (HOLIDAY, CLOSED)]
        names = sorted(
            (
                kind
                for kind in kinds
                if calendar.is_ever(kind)
                and calendar.share_of_days(kind, recent.n_steps) <= MAX_SPECIAL_SHARE
            ),
            key=lambda kind: not kind.startswith(NAMED_HOLIDAY),
        )
        shape = (panel.n_depots, recent.n_steps + panel.ahead)
        kind_dt = np.full(shape, ORDINARY, np.int16)
        for number, name in reversed(list(enumerate(names))):
            kind_dt[calendar.of_kind(name)] = number
        return cls(tuple(names), np.datetime64(recent.start_on), kind_dt)

    def on(self, days: Shaped[np.ndarray, " time"]) -> Int[np.ndarray, "depot time"]:
        """Kind numbers of the given days; ORDINARY outside the panel."""
        column_t = (days - self.first_on).astype(int)
        is_inside_t = (column_t >= 0) & (column_t < self.kind_dt.shape[1])
        kind_dt = self.kind_dt[:, np.where(is_inside_t, column_t, 0)]
        return np.where(is_inside_t, kind_dt, ORDINARY)

    def evidence_days(
        self, origin: np.datetime64, ahead: Shaped[np.ndarray, " target"]
    ) -> Shaped[np.ndarray, " time"]:
        """Past days of the special kinds ahead; for a holiday without any, all past holidays."""
        last = int((origin - self.first_on).astype(int))
        past_dt = self.kind_dt[:, : last + 1]
        columns: set[int] = set()
        for kind in set(np.unique(self.on(ahead)).tolist()) - {ORDINARY}:
            own = np.flatnonzero((past_dt == kind).any(axis=0))
            if not len(own) and kind in self.holidays:
                own = np.flatnonzero(np.isin(past_dt, list(self.holidays)).any(axis=0))
            columns |= set(own[-MAX_SPECIAL_DAYS:].tolist())
        return self.first_on + np.array(sorted(columns), "timedelta64[D]")

    @property
    def holidays(self) -> Collection[int]:
        """Numbers of the kinds that are public holidays."""
        return range(sum(name.startswith(NAMED_HOLIDAY) for name in self.names))


@dataclass(frozen=True)
class PastHours:
    """Orders by hour of past days.

    Attributes:
      days: The days, in order.
      count_dtk: Orders of each hour; 0 on days that are not known.
      kind_dt: From `SpecialDays.on`.
    """

    days: Shaped[np.ndarray, " time"]
    count_dtk: Float32[np.ndarray, "depot time 24"]
    kind_dt: Int[np.ndarray, "depot time"]


@dataclass(frozen=True)
class DayShares:
    """Shares of the hours of days ahead; the last axis adds up to 1.

    Attributes:
      share_dhk: Share of each hour in a depot's orders of the day.
      concentration: Dirichlet concentration of a depot's single days around its shape, in
        orders; the higher it is, the less the hours of single days deviate.
      city_concentration: Dirichlet concentration of a city's cumulative orders up to each hour.
    """

    share_dhk: Float32[np.ndarray, "depot horizon 24"]
    concentration: float
    city_concentration: float


def day_shares(
    past: PastHours,
    cities: Sequence[str],
    ahead: Shaped[np.ndarray, " horizon"],
    kind_dh: Int[np.ndarray, "depot horizon"],
    holidays: Collection[int] = (),
) -> DayShares | None:
    """Estimates the shares of the hours of days ahead; None where no past order has an hour.

    Args:
      past: Hours of the last `WINDOW_DAYS` days, and of special days before them.
      cities: City of each depot.
      ahead: The days ahead.
      kind_dh: Kind numbers of the days ahead.
      holidays: Kind numbers of holidays, pooled for a holiday that has no past day.
    """
    if not past.count_dtk.any():
        return None
    newest = past.days.max()
    is_recent_t = past.days > newest - WINDOW_DAYS
    is_usual_dt = (past.kind_dt == ORDINARY) & is_recent_t
    if not past.count_dtk[is_usual_dt].any():
        is_usual_dt = np.broadcast_to(is_recent_t, is_usual_dt.shape)
    _, city_d = np.unique(np.array(cities, str), return_inverse=True)
    weekday_t = weekdays(past.days)
    share_dwk = _usual_shares(past.count_dtk, is_usual_dt, weekday_t, city_d)
    own, of_cities = _Dispersion(), _Dispersion()
    for step in np.flatnonzero(is_usual_dt.any(axis=0)):
        count_dk = np.where(is_usual_dt[:, step, None], past.count_dtk[:, step], 0.0)
        share_dk = share_dwk[:, weekday_t[step]]
        own.add(count_dk, share_dk)
        expected_dk = count_dk.sum(axis=-1, keepdims=True) * share_dk
        # Cumulative up to each hour: a city's day runs early or late as a whole.
        count_ck, share_ck = (
            _sum_by(count_dk, city_d),
            normal(_sum_by(expected_dk, city_d)),
        )
        n_c1 = count_ck.sum(axis=-1, keepdims=True)
        of_cities.add(count_ck.cumsum(axis=-1), share_ck.cumsum(axis=-1), n_c1)
    share_dhk = share_dwk[:, weekdays(ahead)]
    for kind in set(np.unique(kind_dh).tolist()) - {ORDINARY}:
        change = _special_change(past, share_dwk, kind, holidays)
        if change is not None:
            weekday, ratio_k = change
            row_r, day_r = np.nonzero(kind_dh == kind)
            share_dhk[row_r, day_r] = normal(share_dwk[row_r, weekday] * ratio_k)
    weeks = WINDOW_DAYS / 7
    return DayShares(
        share_dhk.astype(np.float32),
        own.concentration(),
        # A day ahead deviates more from the mean of past weeks than those weeks' days do.
        of_cities.concentration((weeks + 1) / (weeks - 1)),
    )


def _usual_shares(
    count_dtk: Float32[np.ndarray, "depot time 24"],
    is_usual_dt: Bool[np.ndarray, "depot time"],
    weekday_t: Int[np.ndarray, " time"],
    city_d: Int[np.ndarray, " depot"],
) -> Float[np.ndarray, "depot 7 24"]:
    """Hourly shares of each depot's weekdays; depots are shrunk to cities, cities to the fleet."""
    count_dwk = np.stack(
        [
            np.einsum("dtk,dt->dk", count_dtk, is_usual_dt & (weekday_t == weekday))
            for weekday in range(7)
        ],
        axis=1,
    )
    fleet_wk = count_dwk.sum(axis=0)
    fleet_k = normal(fleet_wk.sum(axis=0) + 0.5)
    groups = _two_groups(fleet_wk, fleet_k)
    fleet_wk = _shrunk(fleet_wk, np.broadcast_to(fleet_k, fleet_wk.shape))
    count_cwk = _sum_by(count_dwk, city_d)
    city_cwk = _shrunk(count_cwk, np.broadcast_to(fleet_wk, count_cwk.shape))
    city_dwk = city_cwk[city_d]
    share_dwk = np.empty_like(count_dwk, float)
    for group in groups:
        own_dwk, prior_dwk = count_dwk[:, group], city_dwk[:, group]
        volume_dw1 = own_dwk.sum(axis=-1, keepdims=True)
        # A depot without an order has its city's shape.
        expected_dk = normal(((volume_dw1 + 1e-6) * prior_dwk).sum(axis=1))
        mean_dk = _shrunk(own_dwk.sum(axis=1), expected_dk)
        of_group_dwk = normal(prior_dwk * (mean_dk / expected_dk)[:, None])
        share_dwk[:, group] = _shrunk(own_dwk, of_group_dwk)
    return share_dwk


def _two_groups(
    fleet_wk: Float[np.ndarray, "7 24"], fleet_k: Float[np.ndarray, " 24"]
) -> list[list[int]]:
    """Splits the weekdays into the two groups that make the fleet's hours most likely."""

    def log_likelihood(group: Sequence[int]) -> float:
        count_k = fleet_wk[list(group)].sum(axis=0)
        return float((count_k * np.log(normal(count_k + fleet_k))).sum())

    # Weekday 0 is in the first group; a group of all seven days would be no split.
    firsts = [
        (0, *others) for size in range(6) for others in combinations(range(1, 7), size)
    ]
    splits = [
        (first, [day for day in range(7) if day not in first]) for first in firsts
    ]
    best = max(splits, key=lambda split: sum(map(log_likelihood, split)))
    return [list(group) for group in best]


def _special_change(
    past: PastHours,
    share_dwk: Float[np.ndarray, "depot 7 24"],
    kind: int,
    holidays: Collection[int],
) -> tuple[int, Float[np.ndarray, " 24"]] | None:
    """The weekday that fits a special kind best, and the ratio of the kind's shares to that day's.

    None if there is no past day of the kind, nor of another holiday that can stand in for it.
    """
    is_own_dt = past.kind_dt == kind
    has_own = bool(past.count_dtk[is_own_dt].any())
    if not has_own and kind in holidays:
        is_own_dt = np.isin(past.kind_dt, list(holidays))
    count_k = past.count_dtk[is_own_dt].sum(axis=0, dtype=float)
    if not count_k.any():
        return None
    volume_d = np.einsum("dtk,dt->d", past.count_dtk, is_own_dt)
    expected_wk = normal(np.einsum("d,dwk->wk", volume_d, share_dwk))
    weekday = int(np.argmax(np.log(expected_wk) @ count_k))
    if not has_own:
        return weekday, np.ones(HOURS)
    # The weekday's shape weighs as much as one day of the kind.
    n_days = is_own_dt.any(axis=0).sum()
    weight = n_days / (n_days + 1)
    own_k = weight * normal(count_k) + (1 - weight) * expected_wk[weekday]
    return weekday, own_k / expected_wk[weekday]


@dataclass
class _Dispersion:
    """Squared errors of counts around their shares, from which concentration is estimated.

    The expected squared error of a Dirichlet-multinomial of n orders is
    n · Σ share (1 − share) · (n + concentration) / (1 + concentration).
    """

    sums: Float[np.ndarray, " 3"] = field(default_factory=lambda: np.zeros(3))

    def add(
        self,
        count: Float[np.ndarray, "*row 24"],
        share: Float[np.ndarray, "*row 24"],
        n_r1: Float[np.ndarray, "*row 1"] | None = None,
    ) -> None:
        """Adds rows of counts and expected shares; a row has `n_r1` orders, by default its sum."""
        if n_r1 is None:
            n_r1 = count.sum(axis=-1, keepdims=True)
        by_chance_r = (n_r1 * share * (1 - share)).sum(axis=-1)
        error = ((count - n_r1 * share) ** 2).sum()
        times_n = (by_chance_r * n_r1[..., 0]).sum()
        self.sums += (error, by_chance_r.sum(), times_n)

    def concentration(self, inflation: float = 1.0) -> float:
        """Estimates the concentration; `MAX_CONCENTRATION` if chance explains the errors.

        The squared errors are multiplied by `inflation`.
        """
        error, by_chance, times_n = self.sums
        error *= inflation
        if error <= by_chance:
            return MAX_CONCENTRATION
        own = (times_n - error) / (error - by_chance)
        return float(np.clip(own, MIN_CONCENTRATION, MAX_CONCENTRATION))


def _shrunk(
    count: Float[np.ndarray, "*row 24"], prior: Float[np.ndarray, "*row 24"]
) -> Float[np.ndarray, "*row 24"]:
    """Shares of counts, shrunk to prior shares by one concentration estimated from all rows."""
    dispersion = _Dispersion()
    dispersion.add(count, prior)
    return normal(count + dispersion.concentration() * prior)


def _sum_by(
    value: Float[np.ndarray, "depot ..."], city_d: Int[np.ndarray, " depot"]
) -> Float[np.ndarray, "city ..."]:
    total = np.zeros((city_d.max() + 1, *value.shape[1:]))
    np.add.at(total, city_d, value)
    return total


def normal(
    value: Float[np.ndarray, "*row part"],
    even: float | Float[np.ndarray, " part"] = 1 / HOURS,
) -> Float[np.ndarray, "*row part"]:
    """Normalises the values to shares; the shares are `even` where all values are 0."""
    total = value.sum(axis=-1, keepdims=True)
    return np.where(total > 0, value / np.where(total > 0, total, 1.0), even)
