"""Builds the features of each day, from its past and from the calendar.

The features of a day use no later actuals, so an origin may see the features of its own day
and of all days before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType

import numpy as np
from jaxtyping import Float32, Int

from forecaster.data.baseline import (
    BaselineResiduals,
    last_week_share,
    smoothed_level,
    weekday_profile,
)
from forecaster.data.calendar import Calendar
from forecaster.data.calendar_features import calendar_columns, column_names
from forecaster.data.dates import weekdays
from forecaster.data.effects import no_effects
from forecaster.data.own_columns import OwnColumns, own_columns
from forecaster.data.panel import Panel
from forecaster.data.residual_features import (
    CITY_MEAN_DAYS,
    CityResidualMean,
    event_response,
    recent_residuals,
    residual_autocorrelation,
)
from forecaster.data.shapes import DepotTail32, DepotTime32, DepotTimeFlags
from forecaster.data.weekday_prior import NO_WEEKDAY_PRIOR, WeekdayPrior
from forecaster.data.yearly_features import yearly_lags

MAX_KINDS = 32
"""Maximum number of kinds of day with features; the most frequent ones are used."""
CALENDAR_REACH = 14
"""Days of calendar read after a day; the proximity of later holidays is negligible."""
MAX_AGE_DAYS = 364
"""Cap on a depot's age, in days."""
NO_EMBEDDINGS: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class Features:
    """Features of every depot (or calendar) and day, days ahead included.

    Attributes:
      log_demand_dt: log(1 + orders) less the effects, 0 where not observed.
      effect_dtf: Effects as known 1 to H days before, in one column each, or a single
        column without covariates; see `Effects.of`. Log counts.
      observed_dt: 1.0 where the day was observed.
      regular_dt: 1.0 where the day is regular, see `BaselineResiduals`.
      level_dt: Level, see `scaling.trailing_level`; 0 before a depot's first regular day.
      spread_dt: Spread, see `scaling.trailing_spread`; log counts.
      recent_residuals_dtf: `residual_features.RECENT_COLUMNS`; the city's columns in spreads.
      residual_autocorrelation_dt: Lag-one autocorrelation of recent residuals, -1 to 1.
      age_dt: log(1 + days from the depot's first observed day on, at most 364), 0 before.
        The cap lies within the receptive field, so that serving computes the same age.
      smooth_dt: Level by exponential smoothing, without the weekday profile; `level_dt`
        before a depot's first regular day.
      weekday_profile_dt: Smoothed deviation of the weekday from the level.
      last_week_share_dt: Share of the last same weekday in the baseline.
      yearly_dtf: `DEVIATION_COLUMNS` and `RESIDUAL_COLUMNS` of `yearly_features`.
      event_response_dtf: Mean residual of the depot on days of the same kinds, at least a
        horizon earlier, shrunk towards 0; and log(1 + number of these days).
      calendar_gtf: Calendar features, `calendar_features.column_names`.
      group_d: Row of each depot's calendar in `calendar_gtf`.
      own: Columns of events of single depots, which `calendar_gtf` lacks.
      embedding_row_d: Row of each depot's embedding, from 1; 0 for a depot without one.
      start_on: Day of step 0.
      n_steps: Number of steps with actuals; later steps are days ahead.

    All arrays end on the same day. With `last_days` they begin later, and `yearly_dtf` and
    `event_response_dtf` later still.
    """

    log_demand_dt: DepotTime32
    effect_dtf: Float32[np.ndarray, "depot time ahead"]
    observed_dt: DepotTime32
    regular_dt: DepotTime32
    level_dt: DepotTime32
    spread_dt: DepotTime32
    recent_residuals_dtf: Float32[np.ndarray, "depot time recent"]
    residual_autocorrelation_dt: DepotTime32
    age_dt: DepotTime32
    smooth_dt: DepotTime32
    weekday_profile_dt: DepotTime32
    last_week_share_dt: DepotTime32
    yearly_dtf: Float32[np.ndarray, "depot target yearly"]
    event_response_dtf: Float32[np.ndarray, "depot target response"]
    calendar_gtf: Float32[np.ndarray, "calendar time feature"]
    group_d: Int[np.ndarray, " depot"]
    own: OwnColumns
    embedding_row_d: Int[np.ndarray, " depot"]
    start_on: date
    n_steps: int


def choose_kinds(calendar: Calendar, n_steps: int) -> tuple[str, ...]:
    """Chooses a training panel's most frequent kinds of day, each on at least two past days."""
    return calendar.frequent_kinds(n_steps, MAX_KINDS, min_days=2)


def build_features(
    panel: Panel,
    kinds: Sequence[str],
    horizon: int,
    embedding_row_of: Mapping[str, int] = NO_EMBEDDINGS,
    city_mean: CityResidualMean | None = None,
    last_days: int | None = None,
    effect_dtf: Float32[np.ndarray, "depot time_ahead ahead"] | None = None,
    weekday_prior: WeekdayPrior = NO_WEEKDAY_PRIOR,
) -> Features:
    """Builds the features that windows are cut from.

    Args:
      panel: Demand up to the origin and the calendar beyond it.
      kinds: Kinds of day among the features; a kind that the calendar lacks occurs on no day.
      horizon: Days forecast. A day's event response reads only residuals at least `horizon`
        days before the day, because an origin may be that early.
      embedding_row_of: Row of each depot that has an embedding, from `embedding_rows`.
      city_mean: Mean residuals over all depots of a city, where the panel has only some.
      last_days: Limits the features to so many last days up to the origin, without changing
        their values, and those needed only for days ahead to the last one; None returns all days.
      effect_dtf: From `Effects.of`; None for no effects.
      weekday_prior: Pattern towards which weekday profiles are shrunk.
    """
    if effect_dtf is None:
        effect_dtf = no_effects(panel)
    residuals = BaselineResiduals.from_panel(panel, effect_dtf[..., 0])
    first_step = 0 if last_days is None else max(0, panel.n_steps - last_days)
    first_target = 0 if last_days is None else panel.n_steps - 1
    if city_mean is None:
        city_mean = CityResidualMean()
        city_mean.add(residuals, panel.cities, max(0, first_step - CITY_MEAN_DAYS))
    day_t = panel.days(first_step)
    weekday_profile_dt = weekday_prior.shrink(
        weekday_profile(residuals), residuals, weekdays(panel.days())
    )
    return Features(
        log_demand_dt=residuals.log_dt[:, first_step:],
        effect_dtf=effect_dtf[:, first_step:],
        observed_dt=residuals.observed_dt[:, first_step:].astype(np.float32),
        regular_dt=residuals.regular_dt[:, first_step:].astype(np.float32),
        level_dt=residuals.level_dt[:, first_step:],
        spread_dt=residuals.spread_dt[:, first_step:],
        recent_residuals_dtf=recent_residuals(
            residuals, city_mean.of(panel.cities), first_step
        ),
        residual_autocorrelation_dt=residual_autocorrelation(residuals, first_step),
        age_dt=_age(residuals.observed_dt, first_step),
        smooth_dt=smoothed_level(residuals, weekday_profile_dt, first_step),
        weekday_profile_dt=weekday_profile_dt[:, first_step:],
        last_week_share_dt=last_week_share(residuals, first_step),
        yearly_dtf=yearly_lags(panel.calendar, residuals, first_target),
        event_response_dtf=event_response(
            residuals, panel.calendar, kinds, horizon, first_target
        ),
        calendar_gtf=calendar_columns(panel.calendar, kinds, day_t),
        group_d=panel.calendar.group_d,
        own=own_columns(panel.calendar, kinds, column_names(kinds), len(day_t)),
        embedding_row_d=np.array(
            [embedding_row_of.get(depot, 0) for depot in panel.depot_ids], int
        ),
        start_on=panel.day(first_step),
        n_steps=panel.n_steps - first_step,
    )


def embedding_rows(depot_ids: Sequence[str]) -> dict[str, int]:
    """Row of each depot's embedding, from 1, in the order of the depots."""
    return {depot: position for position, depot in enumerate(depot_ids, start=1)}


def _age(observed_dt: DepotTimeFlags, first_step: int) -> DepotTail32:
    """log(1 + days since the first observed day, inclusive), capped; 0 before that day."""
    step_t = np.arange(first_step, observed_dt.shape[1])
    first_observed_d1 = observed_dt.argmax(axis=1)[:, None]
    days_dt = np.clip(step_t - first_observed_d1 + 1, 0, MAX_AGE_DAYS)
    days_dt *= np.any(observed_dt, axis=1, keepdims=True)
    return np.log1p(days_dt).astype(np.float32)
