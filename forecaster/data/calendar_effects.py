"""Effects of holidays and events on each depot's log counts, by nested ridge regressions.

A depot's response to a day is the fleet's response plus the deviations of its city and of the depot
itself. The response to a named holiday starts from the responses to its class (days on which most
businesses are closed) and to holidays in general. Each step is shrunk towards the one before
(empirical Bayes; Gelman and Hill, Data Analysis Using Regression and Multilevel Models,
2006), so that a first Christmas is forecast from Thanksgiving, and a new depot from its city.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from forecaster.data.effect_columns import (
    MAX_EFFECT_KINDS,
    EffectColumns,
    effect_columns,
)
from forecaster.data.own_columns import OwnColumns
from forecaster.data.panel import Panel, log_counts
from forecaster.data.ridge import Coefficients, Rows, estimate_prior_sds, fit_ridge
from forecaster.data.scaling import median_of_known
from forecaster.data.shapes import DepotTime, DepotTimeFlags

ONLY_CITY_SD_SHARE, DEPOT_SD_SHARE = 0.4, 0.5
"""Prior standard deviation of a deviation, as a share of the fleet effect's: the value for the only
city of a fleet, and the limit of the estimate for depots. With several cities it is estimated, with
the fleet effect's as the limit. For a column with `ridge.MIN_OWN_ROWS` days at a sampled depot, the
depots' limit is the prior of the column's family."""
MAX_SAMPLED_DEPOTS = 64
"""Maximum number of depots from which the prior standard deviations are estimated."""
NEIGHBOUR_WEEKS = 4
"""A day's normal level is the median of its weekday in this many weeks before and after it."""
MAX_FITTED_RESIDUAL = 3.0
"""Maximum absolute deviation from the normal level, log counts; larger ones are clipped."""
MIN_NOISE, DEFAULT_NOISE, MIN_NOISE_DAYS = 0.03, 0.3, 7
"""Standard deviation of residuals, log counts: its minimum, and the default with
fewer than `MIN_NOISE_DAYS` known days."""
PARTS = 4
"""Parts of the history; in training, each part uses effects fitted to the earlier parts."""


@dataclass(frozen=True)
class CalendarEffects:
    """Effects of the columns of `effect_columns`, log counts.

    Attributes:
      kinds: Kinds of day that have columns.
      fleet_f: Effects on a depot that is not in `depot_ids`, in a city not in `cities`.
      cities: Cities with effects of their own.
      city_cf: Effects on a new depot of each city; rows as in `cities`.
      depot_ids: Depots with effects of their own.
      depot_df: Effects on each depot; rows as in `depot_ids`.
      covariance_ff: Posterior covariance of a depot's effects: the fleet's, plus on the
        diagonal the mean variances of the deviations of cities and depots.
    """

    kinds: tuple[str, ...]
    fleet_f: Float32[np.ndarray, " feature"]
    cities: tuple[str, ...]
    city_cf: Float32[np.ndarray, "city feature"]
    depot_ids: tuple[str, ...]
    depot_df: Float32[np.ndarray, "depot feature"]
    covariance_ff: Float32[np.ndarray, "feature feature"]

    def of(self, panel: Panel) -> Float32[np.ndarray, "depot time_ahead"]:
        """Returns the effect of every day of a panel, days ahead included."""
        return self.applied(panel, effect_columns(panel, self.kinds))

    def applied(
        self, panel: Panel, columns: EffectColumns
    ) -> Float32[np.ndarray, "depot day"]:
        """Returns the effect of every day of `columns`, which are the panel's; log counts."""
        effect_df, group_d = self._of_depots(panel), panel.calendar.group_d
        effect_dt = np.zeros((len(group_d), columns.value_gtf.shape[1]), np.float32)
        # One matrix product per calendar.
        for group in np.unique(group_d):
            here_d = group_d == group
            effect_dt[here_d] = effect_df[here_d] @ columns.value_gtf[group].T
        days = _OwnDays.of(columns, group_d)
        own_effect_n = (days.value_nf * effect_df[days.depot_n]).sum(axis=1)
        effect_dt[days.depot_n, days.step_n] = own_effect_n
        return effect_dt

    def by_column(self, panel: Panel, step: int) -> dict[str, float]:
        """Returns the effect of each column on one day of a panel's first depot; log counts."""
        columns = effect_columns(panel, self.kinds)
        value_f = columns.value_gtf[panel.calendar.group_d[0], step].copy()
        own = columns.own
        own = own.rows((own.depot_r == 0) & (own.step_r == step))
        value_f[own.column_r] = own.value_r
        effect_f = value_f * self._of_depots(panel)[0]
        return dict(zip(columns.names, effect_f.tolist(), strict=True))

    def _of_depots(self, panel: Panel) -> Float32[np.ndarray, "depot feature"]:
        """Effects of every column on each depot; a new depot has its city's, else the fleet's."""
        of_city, of_depot = self._of_city, self._of_depot
        return np.stack(
            [
                of_depot.get(depot, of_city.get(city, self.fleet_f))
                for depot, city in zip(panel.depot_ids, panel.cities, strict=True)
            ]
        )

    def sd_of(self, panel: Panel) -> Float32[np.ndarray, "depot time_ahead"]:
        """Returns the standard deviation of the effect of every day, log counts.

        It falls as more days with the same columns are observed; 0 where all columns are 0.
        """
        columns, group_d = effect_columns(panel, self.kinds), panel.calendar.group_d
        variance_dt = self._variance(columns.value_gtf)[group_d]
        days = _OwnDays.of(columns, group_d)
        variance_dt[days.depot_n, days.step_n] = self._variance(days.value_nf)
        # Rounding may leave a variance just below 0.
        return np.sqrt(np.maximum(variance_dt, 0.0))

    def _variance(
        self, value: Float32[np.ndarray, "*day feature"]
    ) -> Float32[np.ndarray, "*day"]:
        return ((value @ self.covariance_ff) * value).sum(axis=-1)

    @cached_property
    def _of_city(self) -> dict[str, np.ndarray]:
        return dict(zip(self.cities, self.city_cf, strict=True))

    @cached_property
    def _of_depot(self) -> dict[str, np.ndarray]:
        return dict(zip(self.depot_ids, self.depot_df, strict=True))


def fit_calendar_effects(panel: Panel) -> CalendarEffects:
    """Fits the effects to a panel's actuals."""
    regression = _CalendarRegression.of(panel)
    every_t = np.ones(panel.n_steps, bool)
    return regression.fit(every_t, regression.prior_sds())


def forward_chained_calendar_effects(
    panel: Panel,
) -> Iterator[tuple[slice, CalendarEffects]]:
    """Yields each part of the history, and the effects fitted to the days before it.

    If effects were fitted to the same days, the network would learn to trust effects more than
    new days justify. If they were also fitted to later days, they would leak this year's holiday
    into last year's residual, which cannot happen in serving.
    """
    regression = _CalendarRegression.of(panel)
    prior_sds = regression.prior_sds()
    bounds = np.linspace(0, panel.n_steps, PARTS + 1).astype(int)
    for first, end in pairwise(bounds):
        counted_t = np.arange(panel.n_steps) < first
        yield slice(first, end), regression.fit(counted_t, prior_sds)


class CalendarResiduals(NamedTuple):
    """Log counts less the normal level of their weekday and the calendar's effects."""

    residual_dt: DepotTime
    # Whether the residual is known.
    valid_dt: DepotTimeFlags
    # Standard deviation of the residuals, see `_CalendarRegression.noise_d`.
    noise_d: Float[np.ndarray, " depot"]


def calendar_residuals(panel: Panel, effects: CalendarEffects) -> CalendarResiduals:
    """Returns a panel's deviations from its normal level, less the effects fitted to them.

    Columns of frequent events are also deviations from nearby weeks, see `_less_neighbours`.
    """
    regression = _CalendarRegression.of(panel)
    effect_dt = effects.applied(panel, regression.columns)
    residual_dt = regression.residual_dt - effect_dt
    return CalendarResiduals(residual_dt, regression.known_dt, regression.noise_d)


class _PriorSds(NamedTuple):
    """Prior standard deviations of the effects, and of the deviations of cities and depots."""

    fleet_f: Float[np.ndarray, " feature"]
    city_f: Float[np.ndarray, " feature"]
    depot_f: Float[np.ndarray, " feature"]


@dataclass(frozen=True)
class _CalendarRegression:
    """Regression of a panel's deviations from its normal level (not the baseline) on columns.

    Attributes:
      columns: Effect columns of the days with actuals.
      residual_dt: Log counts less the same weekday's median in nearby weeks; 0 if not known.
      known_dt: Whether the residual is known.
      excluded_dt: Whether the day is left out of the normal level.
      noise_d: Standard deviation of the residuals of normal days (known and not excluded),
        times `_autocorrelation_inflation`.
    """

    panel: Panel
    columns: EffectColumns
    residual_dt: DepotTime
    known_dt: DepotTimeFlags
    excluded_dt: DepotTimeFlags
    noise_d: Float[np.ndarray, " depot"]

    @classmethod
    def of(cls, panel: Panel) -> "_CalendarRegression":
        """Computes the residuals and columns of a panel."""
        kinds = panel.calendar.frequent_kinds(
            panel.n_steps, MAX_EFFECT_KINDS, min_days=1
        )
        columns = effect_columns(panel, kinds).until(panel.n_steps)
        excluded_gt = (columns.value_gtf[..., columns.excluded_f] != 0).any(axis=-1)
        excluded_dt = excluded_gt[panel.calendar.group_d]
        own = columns.own.rows(columns.excluded_f[columns.own.column_r])
        excluded_dt[own.depot_r, own.step_r] = True
        residual_dt, known_dt = _deviations_from_neighbours(panel, excluded_dt)
        normal_dt = known_dt & ~excluded_dt
        columns = _less_neighbours(
            columns, panel.calendar.group_d, excluded_gt, normal_dt
        )
        noise_d = _noise(residual_dt, normal_dt) * _autocorrelation_inflation(
            residual_dt, normal_dt
        )
        return cls(panel, columns, residual_dt, known_dt, excluded_dt, noise_d)

    def prior_sds(self) -> _PriorSds:
        """Estimates the prior standard deviations from all days."""
        every_t = np.ones(self.panel.n_steps, bool)
        family_f, prior_sd_f = self.columns.family_f, self.columns.prior_sd_f
        cells = self._cells(every_t)
        fleet_f = estimate_prior_sds(
            [cells.rows_less(self.columns.prior_mean_f)], prior_sd_f, family_f
        )
        effect_f = self._fit_fleet(cells, fleet_f).mean_f
        city_f = ONLY_CITY_SD_SHARE * fleet_f
        of_cities = cells.of_cities(len(self._cities), effect_f)
        if len(of_cities) > 1:
            city_f = estimate_prior_sds(of_cities, fleet_f, family_f)
        city_cf = effect_f + np.stack(
            [fit_ridge(rows, city_f).mean_f for rows in of_cities]
        )
        some = np.linspace(0, self.panel.n_depots - 1, MAX_SAMPLED_DEPOTS).astype(int)
        of_depots = self._depot_rows(city_cf, every_t, np.unique(some))
        depot_f = estimate_prior_sds(
            list(of_depots),
            DEPOT_SD_SHARE * fleet_f,
            family_f,
            own_most_f=prior_sd_f,
        )
        return _PriorSds(fleet_f, city_f, depot_f)

    def fit(
        self, counted_t: Bool[np.ndarray, " time"], prior_sds: _PriorSds
    ) -> CalendarEffects:
        """Fits the effects to the days of `counted_t`."""
        cells = self._cells(counted_t)
        fleet = self._fit_fleet(cells, prior_sds.fleet_f)
        fleet_f = fleet.mean_f
        of_cities = _Deviations.fit(
            cells.of_cities(len(self._cities), fleet_f), prior_sds.city_f
        )
        city_cf = fleet_f + of_cities.mean_nf
        every = np.arange(self.panel.n_depots)
        of_depots = _Deviations.fit(
            self._depot_rows(city_cf, counted_t, every), prior_sds.depot_f
        )
        depot_df = city_cf[self._city_d] + of_depots.mean_nf
        variance_f = of_cities.variance_f + of_depots.variance_f
        # The effect of an event of every day, or of every weekend, lies within the level.
        told_f = self.columns.excluded_f | (cells.value_rf != 0).any(axis=0)
        covariance_ff = fleet.covariance_ff + np.diag(variance_f)
        covariance_ff *= np.outer(told_f, told_f)
        return CalendarEffects(
            self.columns.kinds,
            fleet_f.astype(np.float32),
            self._cities,
            city_cf.astype(np.float32),
            self.panel.depot_ids,
            depot_df.astype(np.float32),
            covariance_ff.astype(np.float32),
        )

    def _fit_fleet(
        self, cells: "_Cells", prior_sd_f: Float[np.ndarray, " feature"]
    ) -> Coefficients:
        """Effects on the whole fleet, shrunk towards their prior means."""
        mean_f = self.columns.prior_mean_f
        deviation = fit_ridge(cells.rows_less(mean_f), prior_sd_f)
        return deviation._replace(mean_f=mean_f + deviation.mean_f)

    @cached_property
    def _cities(self) -> tuple[str, ...]:
        return tuple(sorted(set(self.panel.cities)))

    @cached_property
    def _city_d(self) -> Int[np.ndarray, " depot"]:
        return np.searchsorted(self._cities, self.panel.cities)

    def _cells(self, counted_t: Bool[np.ndarray, " time"]) -> "_Cells":
        """Averages residuals over depots of one city and calendar, but not depots with own events.

        A day's common effect on these depots is one observation, not one per depot.
        """
        panel, group_d = self.panel, self.panel.calendar.group_d
        own_d = np.where(panel.calendar.has_own_d, np.arange(panel.n_depots), -1)
        keys_d = np.stack([self._city_d, group_d, own_d], axis=1)
        _, first_n, cell_d = np.unique(
            keys_d, axis=0, return_index=True, return_inverse=True
        )
        total_nt = np.zeros((len(first_n), panel.n_steps))
        precision_nt = np.zeros_like(total_nt)
        precision_dt = (self.known_dt & counted_t) / self.noise_d[:, None] ** 2
        np.add.at(total_nt, cell_d, precision_dt * self.residual_dt)
        np.add.at(precision_nt, cell_d, precision_dt)
        known_nt = precision_nt > 0
        mean_nt = total_nt / np.where(known_nt, precision_nt, 1.0)
        normal_nt = known_nt & ~self.excluded_dt[first_n]
        noise_n = _noise(mean_nt, normal_nt) * _autocorrelation_inflation(
            mean_nt, normal_nt
        )
        weight_nt = known_nt / noise_n[:, None] ** 2
        days = _OwnDays.of(self.columns, group_d)
        cell_m, step_m = cell_d[days.depot_n], days.step_n
        own = _Cells(
            self._city_d[days.depot_n],
            days.value_nf,
            weight_nt[cell_m, step_m],
            mean_nt[cell_m, step_m],
        )
        weight_nt[cell_m, step_m] = 0.0
        city_n, group_n = keys_d[first_n, :2].T
        return _Cells.of_shared_days(
            city_n, group_n, self.columns.value_gtf, weight_nt, mean_nt
        ).and_also(own)

    def _depot_rows(
        self,
        city_cf: Float[np.ndarray, "city feature"],
        counted_t: Bool[np.ndarray, " time"],
        depots: Int[np.ndarray, " some"],
    ) -> Iterator[Rows]:
        """Rows of each given depot, less its city's effects: days with a non-zero column."""
        group_d, own = self.panel.calendar.group_d, self.columns.own
        end_d = np.searchsorted(
            own.depot_r, np.arange(self.panel.n_depots), side="right"
        )
        start_d = np.searchsorted(own.depot_r, np.arange(self.panel.n_depots))
        for depot in depots:
            value_tf = self.columns.value_gtf[group_d[depot]]
            if start_d[depot] < end_d[depot]:
                value_tf, rows = value_tf.copy(), slice(start_d[depot], end_d[depot])
                value_tf[own.step_r[rows], own.column_r[rows]] = own.value_r[rows]
            some_t = self.known_dt[depot] & counted_t & (value_tf != 0).any(axis=1)
            value_rf = value_tf[some_t]
            rest_r = self.residual_dt[depot, some_t]
            rest_r = rest_r - value_rf @ city_cf[self._city_d[depot]]
            weight_r = np.full(len(rest_r), self.noise_d[depot] ** -2.0)
            yield Rows(value_rf, weight_r, rest_r)


class _Deviations(NamedTuple):
    """Deviations of cities from the fleet's effects, or of depots from their city's."""

    mean_nf: Float[np.ndarray, "place feature"]
    # Mean over the places that have a day of the column, or over all if none has.
    variance_f: Float[np.ndarray, " feature"]

    @classmethod
    def fit(
        cls, of_places: Iterable[Rows], prior_sd_f: Float[np.ndarray, " feature"]
    ) -> "_Deviations":
        """Fits the deviation of each place separately."""
        mean_nf, variance_nf, seen_nf = [], [], []
        for rows in of_places:
            own = fit_ridge(rows, prior_sd_f)
            mean_nf.append(own.mean_f)
            variance_nf.append(own.variance_f)
            seen_nf.append((rows.value_rf != 0).any(axis=0))
        weight_nf = np.stack(seen_nf).astype(float)
        weight_nf[:, ~np.any(seen_nf, axis=0)] = 1.0
        variance_f = np.average(np.stack(variance_nf), axis=0, weights=weight_nf)
        return cls(np.stack(mean_nf), variance_f)


class _OwnDays(NamedTuple):
    """Days on which single depots have columns of their own, with the values of all columns."""

    depot_n: Int[np.ndarray, " day"]
    step_n: Int[np.ndarray, " day"]
    value_nf: Float32[np.ndarray, "day feature"]

    @classmethod
    def of(
        cls, columns: EffectColumns, group_d: Int[np.ndarray, " depot"]
    ) -> "_OwnDays":
        """Merges the days' own columns with the columns that their depots share."""
        own = columns.own
        days_r2 = np.stack([own.depot_r, own.step_r], axis=1)
        days_n2, day_r = np.unique(days_r2, axis=0, return_inverse=True)
        depot_n, step_n = days_n2.T
        value_nf = columns.value_gtf[group_d[depot_n], step_n]
        value_nf[day_r, own.column_r] = own.value_r
        return cls(depot_n, step_n, value_nf)


@dataclass(frozen=True)
class _Cells:
    """Mean residuals of cells (city and calendar) on the days with a non-zero column."""

    # Number of the city.
    city_r: Int[np.ndarray, " row"]
    value_rf: Float32[np.ndarray, "row feature"]
    # 0 where no residual is known.
    weight_r: Float[np.ndarray, " row"]
    mean_r: Float[np.ndarray, " row"]

    @classmethod
    def of_shared_days(
        cls,
        city_n: Int[np.ndarray, " cell"],
        group_n: Int[np.ndarray, " cell"],
        value_gtf: Float32[np.ndarray, "calendar time feature"],
        weight_nt: Float[np.ndarray, "cell time"],
        mean_nt: Float[np.ndarray, "cell time"],
    ) -> "_Cells":
        """Builds one row per city, calendar and day with a column, from one or more cells.

        In a regression, rows with equal columns are equivalent to their weighted mean.
        """
        places_n2 = np.stack([city_n, group_n], axis=1)
        places_p2, first_p, place_n = np.unique(
            places_n2, axis=0, return_index=True, return_inverse=True
        )
        weight_pt, mean_pt = weight_nt[first_p], mean_nt[first_p]
        if len(places_p2) < len(places_n2):
            weight_pt, total_pt = np.zeros_like(weight_pt), np.zeros_like(weight_pt)
            np.add.at(weight_pt, place_n, weight_nt)
            np.add.at(total_pt, place_n, weight_nt * mean_nt)
            mean_pt = total_pt / np.where(weight_pt > 0, weight_pt, 1.0)
        value_ptf = value_gtf[places_p2[:, 1]]
        place_r, step_r = np.nonzero((value_ptf != 0).any(axis=-1))
        return cls(
            places_p2[place_r, 0],
            value_ptf[place_r, step_r],
            weight_pt[place_r, step_r],
            mean_pt[place_r, step_r],
        )

    def and_also(self, other: "_Cells") -> "_Cells":
        """Returns the rows of both that have a weight above 0."""
        parts = zip(vars(self).values(), vars(other).values(), strict=True)
        both = _Cells(*(np.concatenate(part) for part in parts))
        return both.rows(both.weight_r > 0)

    def rows(self, chosen_r: Bool[np.ndarray, " row"]) -> "_Cells":
        """Returns the chosen rows."""
        return _Cells(*(column[chosen_r] for column in vars(self).values()))

    def rows_less(self, effect_f: Float[np.ndarray, " feature"]) -> Rows:
        """Returns all rows as one regression, with the given effects subtracted."""
        rest_r = self.mean_r - self.value_rf @ effect_f
        return Rows(self.value_rf, self.weight_r, rest_r)

    def of_cities(
        self, n_cities: int, fleet_f: Float[np.ndarray, " feature"]
    ) -> list[Rows]:
        """Rows of each city, less the fleet's effects, in the order of the cities' numbers."""
        return [
            self.rows(self.city_r == city).rows_less(fleet_f)
            for city in range(n_cities)
        ]


def _deviations_from_neighbours(
    panel: Panel, excluded_dt: DepotTimeFlags
) -> tuple[DepotTime, DepotTimeFlags]:
    """Log counts less the same weekday's median in nearby weeks, and whether they are known.

    The deviation depends on later days: effects may be fitted to it, but no feature may read it.
    """
    observed_dt, log_dt = panel.observed_dt, log_counts(panel.demand_dt)
    normal_dt = observed_dt & ~excluded_dt
    # A depot with few normal days uses all its observed days instead.
    few_d = normal_dt.sum(axis=1) < 2 * MIN_NOISE_DAYS
    normal_dt[few_d] = observed_dt[few_d]
    normal_level_dt, has_neighbour_dt = _neighbour_median(log_dt, normal_dt)
    residual_dt = log_dt - normal_level_dt
    known_dt = observed_dt & has_neighbour_dt
    clipped_dt = np.clip(residual_dt, -MAX_FITTED_RESIDUAL, MAX_FITTED_RESIDUAL)
    return np.where(known_dt, clipped_dt, 0.0), known_dt


def _neighbour_median(
    value_rt: Float32[np.ndarray, "row time"], normal_rt: Bool[np.ndarray, "row time"]
) -> tuple[Float32[np.ndarray, "row time"], Bool[np.ndarray, "row time"]]:
    """Median of normal same weekdays in nearby weeks (0 without any), and whether there are any."""
    value_rt = np.where(normal_rt, value_rt, np.float32(np.nan))
    shifted = np.full((2 * NEIGHBOUR_WEEKS, *value_rt.shape), np.nan, np.float32)
    for weeks in range(1, NEIGHBOUR_WEEKS + 1):
        days = 7 * weeks
        shifted[2 * weeks - 2, :, days:] = value_rt[:, :-days]
        shifted[2 * weeks - 1, :, :-days] = value_rt[:, days:]
    return median_of_known(shifted)


def _less_neighbours(
    columns: EffectColumns,
    group_d: Int[np.ndarray, " depot"],
    excluded_gt: Bool[np.ndarray, "calendar time"],
    normal_dt: DepotTimeFlags,
) -> EffectColumns:
    """Subtracts from each frequent event's column its same-weekday median in nearby weeks.

    Days of frequent events are part of the normal level, so a residual reflects the difference
    between the day's column and its neighbours' columns.
    """
    value_gtf, own = columns.value_gtf.copy(), columns.own
    for column in np.flatnonzero(~columns.excluded_f):
        here_r = own.column_r == column
        days, own = own.rows(here_r), own.rows(~here_r)
        depots = np.unique(days.depot_r)
        value_dt = value_gtf[group_d[depots], :, column]
        value_dt[np.searchsorted(depots, days.depot_r), days.step_r] = days.value_r
        value_gtf[..., column] -= _neighbour_median(
            value_gtf[..., column], ~excluded_gt
        )[0]
        value_dt -= _neighbour_median(value_dt, normal_dt[depots])[0]
        row_r, step_r = np.nonzero(value_dt != value_gtf[group_d[depots], :, column])
        column_r = np.full(len(row_r), column)
        own = own.and_also(
            OwnColumns(depots[row_r], step_r, column_r, value_dt[row_r, step_r])
        )
    return replace(columns, value_gtf=value_gtf, own=own)


def _noise(
    residual_rt: Float[np.ndarray, "row time"], known_rt: Bool[np.ndarray, "row time"]
) -> Float[np.ndarray, " row"]:
    """Root mean square of each row's known residuals; `DEFAULT_NOISE` if they are too few."""
    count_r = known_rt.sum(axis=1)
    total_r = np.where(known_rt, residual_rt**2, 0.0).sum(axis=1)
    noise_r = np.sqrt(total_r / np.maximum(count_r, 1))
    noise_r = np.where(count_r < MIN_NOISE_DAYS, DEFAULT_NOISE, noise_r)
    return np.maximum(noise_r, MIN_NOISE)


def _autocorrelation_inflation(
    residual_rt: Float[np.ndarray, "row time"], known_rt: Bool[np.ndarray, "row time"]
) -> Float[np.ndarray, " row"]:
    """Factor by which autocorrelation inflates the standard error of a mean of days.

    The square root of (1 + ρ) / (1 - ρ) with ρ the correlation of one day with the next:
    events come in series of days, and a shock lasts for several.
    """
    value_rt = np.where(known_rt, residual_rt, 0.0)
    both_rt = known_rt[:, 1:] & known_rt[:, :-1]
    product_r = (value_rt[:, 1:] * value_rt[:, :-1] * both_rt).sum(axis=1)
    square_r = (value_rt[:, 1:] ** 2 * both_rt).sum(axis=1)
    correlation_r = np.clip(product_r / np.maximum(square_r, 1e-9), 0.0, 0.8)
    return np.sqrt((1 + correlation_r) / (1 - correlation_r))
