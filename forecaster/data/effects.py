"""Effects on log counts of data known in advance: the calendar, covariates and weekdays.

The calendar's effect includes all events; past days include events announced late, as if they had
been known in advance. The effect of covariates uses the values known at the origin: the last axis
has one column for each number of days ahead, or a single one without covariates.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32

from forecaster.data.calendar_effects import (
    CalendarEffects,
    calendar_residuals,
    fit_calendar_effects,
    forward_chained_calendar_effects,
)
from forecaster.data.panel import Panel
from forecaster.data.signal_effects import (
    SignalEffects,
    covariate_names,
    fit_signal_effects,
    no_signals,
)
from forecaster.data.weekday_prior import (
    NO_WEEKDAY_PRIOR,
    WeekdayPrior,
    fit_weekday_prior,
)


@dataclass(frozen=True)
class Effects:
    """Fitted effects of the calendar, of signals and values of events, and of the weekday.

    The weekday effects are a prior for the depots' weekday profiles; `of` does not include them.
    """

    calendar: CalendarEffects
    signals: SignalEffects
    weekdays: WeekdayPrior = NO_WEEKDAY_PRIOR

    def of(
        self, panel: Panel, horizon: int
    ) -> Float32[np.ndarray, "depot time_ahead lead"]:
        """Returns the effect of every day, as known 1 to `horizon` days before; log counts.

        Args:
          panel: Panel whose calendar and signals are read, as known at its origin.
          horizon: Days forecast.

        Returns:
          Column `h - 1` is the effect as known h days before; one column without covariates.
        """
        calendar_dtf = self.calendar.of(panel)[..., None]
        if not self.signals.names:
            return calendar_dtf
        ahead = range(1, horizon + 1)
        signals_dtf = np.stack(
            [self.signals.of(panel, days) for days in ahead], axis=-1
        )
        return calendar_dtf + signals_dtf


def no_effects(panel: Panel) -> Float32[np.ndarray, "depot time_ahead lead"]:
    """Effects of 0 on every day of a panel."""
    return np.zeros((panel.n_depots, panel.n_steps + panel.ahead, 1), np.float32)


def fit_effects(panel: Panel, horizon: int) -> Effects:
    """Fits the effects to a panel's actuals, each to what the previous ones left unexplained."""
    effects = Effects(fit_calendar_effects(panel), no_signals())
    if names := covariate_names(panel):
        residuals = calendar_residuals(panel, effects.calendar)
        signals = fit_signal_effects(panel, names, *residuals, horizon)
        effects = replace(effects, signals=signals)
    weekdays = fit_weekday_prior(panel, effects.of(panel, horizon=1)[..., 0])
    return replace(effects, weekdays=weekdays)


class ChainedEffects(NamedTuple):
    """Effects of every day; the calendar's are fitted to earlier days only. Log counts."""

    effect_dtf: Float32[np.ndarray, "depot time_ahead lead"]
    # Standard deviation of the calendar's effect, which falls from part to part.
    sd_dt: Float32[np.ndarray, "depot time_ahead"]


def forward_chained_effects(
    effects: Effects, panel: Panel, horizon: int
) -> ChainedEffects:
    """Returns the effects that training and `inference.baseline_errors` use.

    Only the calendar's effects, which have many columns, are refitted; the effects of covariates
    are taken from `effects`.
    """
    effect_dtf = effects.of(panel, horizon)
    fitted_dt, sd_dt = effects.calendar.of(panel), effects.calendar.sd_of(panel)
    for part, calendar in forward_chained_calendar_effects(panel):
        change_dt = calendar.of(panel) - fitted_dt
        effect_dtf[:, part] += change_dt[:, part, None]
        sd_dt[:, part] = calendar.sd_of(panel)[:, part]
    return ChainedEffects(effect_dtf, sd_dt)
