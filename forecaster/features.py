"""What is known about a day in advance, and what a past day looked like.

Everything here is per day and comes from that day's past or from the calendar, so that
an origin may see all of it that lies at its day or before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from forecaster import windows
from forecaster.calendar import HOLIDAY, NAMED_HOLIDAY, Calendar
from forecaster.panel import Panel, log_counts
from forecaster.scaling import (
    trailing_level,
    trailing_mean,
    trailing_spread,
    trailing_sum,
)

MOST_KINDS = 32
YEARLY_LAGS = (357, 364, 371)
"""Same weekday a year ago, and a week to either side."""
LONGEST_LAG = 400
"""Days of history before the first day of a window that can matter to it."""
CALENDAR_REACH = 14
"""Days of calendar after a day that its features look at; further holidays have faded."""
HARMONICS = 2
SEASON_COLUMNS = 2 * HARMONICS
"""The first columns of the calendar: where in the year a day lies."""
HOLIDAY_REACH = 2
OLDEST_DAYS = 364
HOLIDAY_FADE_DAYS = 3.0
RESPONSE_DAYS = 371
"""Days back in which a depot's answer to a kind of day is remembered."""
PERSISTENCE_DAYS = 182
LARGEST_MISS = 1.5
MOST_SPREADS = 4.0
NAMED_WEIGHT = 3.0
"""How much more a named holiday tells of itself than holidays at large do."""


@dataclass(frozen=True)
class Features:
    """One row of each for every depot (or calendar) and day, days ahead included.

    Attributes:
      log_demand_dt: log(1 + orders), 0 where not observed.
      observed_dt: 1.0 where it was.
      regular_dt: 1.0 where the day was observed and no holiday.
      level_dt: Recent mean of log demand; 0 before a depot's first day.
      spread_dt: Recent mean absolute miss of a plain forecast, in log counts.
      recent_dtf: What a plain forecast missed the day by, the mean of that over three and
        seven days; what it missed in the city, in spreads, that day and over three.
      persistence_dt: How much of a miss was still there the day after, recently; from
        about -1 to 1.
      age_dt: log(1 + days since the depot began, at most a year), 0 before it. A year
        lies within what serving reads, so that it ages as training did.
      yearly_dtf: A year ago: how far it lay from its level (three lags, and the day
        matched by holiday), then whether each is known.
      response_dtf: What a plain forecast missed here, up to a horizon ago, on days of
        the kinds that this day has, drawn towards 0; and log(1 + how many such days).
      calendar_gtf: As `names` says.
      group_d: The calendar of each depot.
      number_d: Row of each depot's embedding, from 1; 0 for one that has none.
      names: Of the last axis of `calendar_gtf`.
      start_on: Day of step 0.
      n_steps: Steps whose actuals are known; the rest lies ahead.
    """

    log_demand_dt: Float32[np.ndarray, "depot time"]
    observed_dt: Float32[np.ndarray, "depot time"]
    regular_dt: Float32[np.ndarray, "depot time"]
    level_dt: Float32[np.ndarray, "depot time"]
    spread_dt: Float32[np.ndarray, "depot time"]
    recent_dtf: Float32[np.ndarray, "depot time 5"]
    persistence_dt: Float32[np.ndarray, "depot time"]
    age_dt: Float32[np.ndarray, "depot time"]
    yearly_dtf: Float32[np.ndarray, "depot time 8"]
    response_dtf: Float32[np.ndarray, "depot time 2"]
    calendar_gtf: Float32[np.ndarray, "calendar time feature"]
    group_d: Int[np.ndarray, " depot"]
    number_d: Int[np.ndarray, " depot"]
    names: tuple[str, ...]
    start_on: date
    n_steps: int


def choose_kinds(calendar: Calendar, n_steps: int) -> tuple[str, ...]:
    """The kinds of day worth learning: those seen on two days of the past at least.

    Args:
      calendar: Of the panel to train on.
      n_steps: Steps of it that are past.
    """
    days_k = calendar.active_gtk[:, :n_steps].any(axis=0).sum(axis=0)
    often = [
        position
        for position in np.argsort(-days_k, kind="stable")
        if days_k[position] >= 2
    ]
    return tuple(calendar.kinds[position] for position in sorted(often[:MOST_KINDS]))


def build_features(
    panel: Panel, kinds: Sequence[str], horizon: int, depot_ids: Sequence[str] = ()
) -> Features:
    """Everything the windows are cut from.

    Args:
      panel: Demand up to the origin and the calendar ahead of it.
      kinds: The kinds of day the network knows; others are left out, and a kind the
        calendar lacks is on no day.
      horizon: What a day remembers of others ends so many days before it, because an
        origin that far back must not see more.
      depot_ids: Depots the network knows by name, in the order of their embeddings.
    """
    log_dt = _ahead_too(log_counts(panel.demand_dt), panel.ahead)
    observed_dt = _ahead_too(panel.observed_dt, panel.ahead)
    holiday_dt = panel.calendar.of_kind(HOLIDAY)[panel.calendar.group_d]
    regular_dt = observed_dt & ~holiday_dt
    level_dt = np.nan_to_num(trailing_level(log_dt, regular_dt))
    miss_dt, expected_dt = _plain_miss(log_dt, regular_dt, level_dt)
    usual_dt = expected_dt & regular_dt
    spread_dt = trailing_spread(miss_dt, usual_dt)
    days = [panel.day(step) for step in range(log_dt.shape[1])]
    names, calendar_gtf = _calendar_features(panel.calendar, kinds, days)
    return Features(
        log_demand_dt=log_dt,
        observed_dt=observed_dt.astype(np.float32),
        regular_dt=regular_dt.astype(np.float32),
        level_dt=level_dt,
        spread_dt=spread_dt,
        recent_dtf=_recent(miss_dt, expected_dt & observed_dt, spread_dt, panel.cities),
        persistence_dt=_persistence(miss_dt, usual_dt),
        age_dt=_age(observed_dt),
        yearly_dtf=_yearly(panel.calendar, log_dt - level_dt, observed_dt),
        response_dtf=_response(
            panel.calendar, kinds, miss_dt, expected_dt & observed_dt, horizon
        ),
        calendar_gtf=calendar_gtf,
        group_d=panel.calendar.group_d,
        number_d=_numbers(panel.depot_ids, depot_ids),
        names=names,
        start_on=panel.start_on,
        n_steps=panel.n_steps,
    )


def _numbers(asked: Sequence[str], known: Sequence[str]) -> Int[np.ndarray, " depot"]:
    number = {depot: position for position, depot in enumerate(known, start=1)}
    return np.array([number.get(depot, 0) for depot in asked], int)


def _ahead_too(value_dt: np.ndarray, ahead: int) -> np.ndarray:
    return np.pad(value_dt, ((0, 0), (0, ahead)))


def _age(
    observed_dt: Bool[np.ndarray, "depot time"],
) -> Float32[np.ndarray, "depot time"]:
    seen_dt = np.maximum.accumulate(observed_dt, axis=1)
    days_dt = np.minimum(np.cumsum(seen_dt, axis=1), OLDEST_DAYS)
    return np.log1p(days_dt).astype(np.float32)


def _plain_miss(
    log_dt: Float32[np.ndarray, "depot time"],
    regular_dt: Bool[np.ndarray, "depot time"],
    level_dt: Float32[np.ndarray, "depot time"],
) -> tuple[Float32[np.ndarray, "depot time"], Bool[np.ndarray, "depot time"]]:
    """What yesterday's plain forecast missed each day by, and where there was one."""
    reach = windows.lookback(1)
    padded = ((0, 0), (reach, 1))
    n_steps = log_dt.shape[1]
    weekdays = windows.same_weekdays(np, np.pad(log_dt, padded), n_steps, 1)
    regular = windows.same_weekdays(
        np, np.pad(regular_dt.astype(np.float32), padded), n_steps, 1
    )
    plain_dt = windows.plain_forecast(np, weekdays, regular, level_dt)[:, :-1, 0]
    miss_dt = np.zeros_like(log_dt)
    miss_dt[:, 1:] = log_dt[:, 1:] - plain_dt
    expected_dt = np.zeros_like(regular_dt)
    expected_dt[:, 1:] = regular[:, :-1, 0].sum(axis=-1) > 0
    return miss_dt, expected_dt


def _recent(
    miss_dt: Float32[np.ndarray, "depot time"],
    known_dt: Bool[np.ndarray, "depot time"],
    spread_dt: Float32[np.ndarray, "depot time"],
    cities: Sequence[str],
) -> Float32[np.ndarray, "depot time 5"]:
    """What the last days brought that a plain forecast did not expect."""
    own_dt = np.where(known_dt, np.clip(miss_dt, -LARGEST_MISS, LARGEST_MISS), 0.0)
    scaled_dt = np.clip(own_dt / spread_dt, -MOST_SPREADS, MOST_SPREADS)
    city_dt = np.zeros_like(own_dt)
    for city in set(cities):
        here_d = np.array(cities) == city
        many_t = np.maximum(known_dt[here_d].sum(axis=0), 1)
        city_dt[here_d] = scaled_dt[here_d].sum(axis=0) / many_t
    any_dt = np.ones_like(known_dt)
    means = [
        trailing_mean(own_dt, known_dt, 3),
        trailing_mean(own_dt, known_dt, 7),
        city_dt,
        trailing_mean(city_dt, any_dt, 3),
    ]
    return np.nan_to_num(np.stack([own_dt, *means], axis=-1)).astype(np.float32)


def _persistence(
    miss_dt: Float32[np.ndarray, "depot time"],
    known_dt: Bool[np.ndarray, "depot time"],
) -> Float32[np.ndarray, "depot time"]:
    """Lag-one autocorrelation of the plain forecast's misses, recently."""
    miss_dt = np.where(known_dt, np.clip(miss_dt, -LARGEST_MISS, LARGEST_MISS), 0.0)
    both_dt, product_dt = np.zeros_like(known_dt), np.zeros_like(miss_dt)
    both_dt[:, 1:] = known_dt[:, 1:] & known_dt[:, :-1]
    product_dt[:, 1:] = miss_dt[:, 1:] * miss_dt[:, :-1]
    together_dt = trailing_mean(product_dt, both_dt, PERSISTENCE_DAYS)
    alone_dt = trailing_mean(miss_dt**2, known_dt, PERSISTENCE_DAYS)
    share_dt = np.nan_to_num(together_dt) / (np.nan_to_num(alone_dt) + 1e-3)
    return np.clip(share_dt, -1.0, 1.0).astype(np.float32)


def _response(
    calendar: Calendar,
    kinds: Sequence[str],
    miss_dt: Float32[np.ndarray, "depot time"],
    known_dt: Bool[np.ndarray, "depot time"],
    horizon: int,
) -> Float32[np.ndarray, "depot time 2"]:
    """How each depot answered to such days before, known a horizon ahead."""
    miss_dt = np.clip(miss_dt, -LARGEST_MISS, LARGEST_MISS)
    total_dt, weight_dt = np.zeros_like(miss_dt), np.zeros_like(miss_dt)
    count_dt = np.zeros_like(miss_dt)
    for kind in kinds:
        active_dt = calendar.of_kind(kind)[calendar.group_d]
        weight = NAMED_WEIGHT if kind.startswith(NAMED_HOLIDAY) else 1.0
        seen_dt = active_dt & known_dt
        sums_dt = _remembered(np.where(seen_dt, miss_dt, 0.0), horizon)
        times_dt = _remembered(seen_dt.astype(np.float32), horizon)
        total_dt += np.where(active_dt, weight * sums_dt, 0.0)
        weight_dt += np.where(active_dt, weight * times_dt, 0.0)
        count_dt = np.where(active_dt, np.maximum(count_dt, times_dt), count_dt)
    answer_dt = total_dt / (weight_dt + 1.0)
    return np.stack([answer_dt, np.log1p(count_dt)], axis=-1).astype(np.float32)


def _remembered(
    value_dt: Float32[np.ndarray, "depot time"], horizon: int
) -> Float32[np.ndarray, "depot time"]:
    """Sum over the remembered days up to `horizon` days before each day."""
    summed_dt = np.zeros_like(value_dt)
    summed_dt[:, horizon:] = trailing_sum(value_dt, RESPONSE_DAYS)[:, :-horizon]
    return summed_dt


def _yearly(
    calendar: Calendar,
    anomaly_dt: Float32[np.ndarray, "depot time"],
    observed_dt: Bool[np.ndarray, "depot time"],
) -> Float32[np.ndarray, "depot time 8"]:
    n_steps = anomaly_dt.shape[1]
    step_t = np.arange(n_steps)
    matched_gt = _holiday_matched(calendar)
    values, knowns = [], []
    for source_gt in (*(step_t[None] - lag for lag in YEARLY_LAGS), matched_gt):
        source_dt = (
            source_gt[calendar.group_d]
            if len(source_gt) > 1
            else np.broadcast_to(source_gt, anomaly_dt.shape)
        )
        index_dt = np.maximum(source_dt, 0)
        known_dt = np.take_along_axis(observed_dt, index_dt, axis=1) & (source_dt >= 0)
        value_dt = np.take_along_axis(anomaly_dt, index_dt, axis=1)
        values.append(np.where(known_dt, value_dt, 0.0))
        knowns.append(known_dt)
    return np.stack([*values, *knowns], axis=-1).astype(np.float32)


def _holiday_matched(calendar: Calendar) -> Int[np.ndarray, "calendar time"]:
    """For each day its counterpart a year ago: by holiday near one, else by weekday."""
    n_groups, n_steps, _ = calendar.active_gtk.shape
    matched_gt = np.tile(np.arange(n_steps) - 364, (n_groups, 1))
    named = [
        k for k, kind in enumerate(calendar.kinds) if kind.startswith(NAMED_HOLIDAY)
    ]
    for offset in sorted(
        range(-HOLIDAY_REACH, HOLIDAY_REACH + 1), key=abs, reverse=True
    ):
        for group in range(n_groups):
            for kind in named:
                _match(matched_gt[group], calendar.active_gtk[group, :, kind], offset)
    return matched_gt


def _match(
    matched_t: Int[np.ndarray, " time"],
    active_t: Bool[np.ndarray, " time"],
    offset: int,
) -> None:
    """Points the days at one offset from a holiday at its last year's, in place."""
    steps = np.flatnonzero(active_t)
    for step in steps:
        before = steps[(steps >= step - LONGEST_LAG + 10) & (steps <= step - 330)]
        if len(before) and 0 <= step + offset < len(matched_t):
            matched_t[step + offset] = before[-1] + offset


def _calendar_features(
    calendar: Calendar, kinds: Sequence[str], days: Sequence[date]
) -> tuple[tuple[str, ...], Float32[np.ndarray, "calendar time feature"]]:
    names, shared_tf = _date_features(days)
    n_groups = len(calendar.active_gtk)
    columns = [np.broadcast_to(shared_tf, (n_groups, *shared_tf.shape))]
    for kind in kinds:
        active_gt = calendar.of_kind(kind).astype(np.float32)
        names += [kind, f"{kind}, the day before", f"{kind}, the day after"]
        eve_gt, morrow_gt = np.zeros_like(active_gt), np.zeros_like(active_gt)
        eve_gt[:, :-1], morrow_gt[:, 1:] = active_gt[:, 1:], active_gt[:, :-1]
        columns.append(np.stack([active_gt, eve_gt, morrow_gt], axis=-1))
    names += ["holiday is near", "holiday was near"]
    columns.append(_nearness(calendar.of_kind(HOLIDAY)))
    return tuple(names), np.concatenate(columns, axis=-1).astype(np.float32)


def _date_features(
    days: Sequence[date],
) -> tuple[list[str], Float32[np.ndarray, "time feature"]]:
    weekday_t = np.array([day.weekday() for day in days])
    year_t = np.array([day.timetuple().tm_yday / 365.25 for day in days])
    month_t = np.array([(day.day - 1) / _days_in_month(day) for day in days])
    columns = [*_turns(year_t), *_turns(month_t), weekday_t[:, None] == np.arange(7)]
    names = [
        f"{period} {wave} {order}"
        for period in ("year", "month")
        for order in range(1, HARMONICS + 1)
        for wave in ("sin", "cos")
    ]
    names += [f"weekday {number}" for number in range(1, 8)]
    return names, np.concatenate(columns, axis=-1).astype(np.float32)


def _turns(phase_t: Float[np.ndarray, " time"]) -> list[Float[np.ndarray, "time 2"]]:
    turns = [2 * np.pi * order * phase_t for order in range(1, HARMONICS + 1)]
    return [np.stack([np.sin(turn_t), np.cos(turn_t)], axis=-1) for turn_t in turns]


def _days_in_month(day: date) -> int:
    first = day.replace(day=1)
    return ((first + timedelta(days=32)).replace(day=1) - first).days


def _nearness(
    active_gt: Bool[np.ndarray, "calendar time"],
) -> Float32[np.ndarray, "calendar time 2"]:
    """How near the next and the last holiday are: 1 on the day, fading over days."""
    since_gt = _days_since(active_gt)
    until_gt = _days_since(active_gt[:, ::-1])[:, ::-1]
    days = np.stack([until_gt, since_gt], axis=-1)
    return np.exp(-days / HOLIDAY_FADE_DAYS).astype(np.float32)


def _days_since(
    active_gt: Bool[np.ndarray, "calendar time"],
) -> Float32[np.ndarray, "calendar time"]:
    step_t = np.arange(active_gt.shape[1])
    last_gt = np.maximum.accumulate(np.where(active_gt, step_t, -1000), axis=1)
    return (step_t - last_gt).astype(np.float32)
