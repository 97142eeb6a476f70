"""Effects of what is known in advance on log counts: of the calendar, and of covariates.

An effect is as an origin knew it: the last axis has one column for each number of days
ahead, or a single one where all origins of a horizon know the same.
"""

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Effects:
    """Fitted effects of the calendar, and of signals and values of events."""

    calendar: CalendarEffects
    signals: SignalEffects

    def of(
        self, panel: Panel, horizon: int
    ) -> Float32[np.ndarray, "depot time_ahead lead"]:
        """Returns the effect of every day, as known so many days before; log counts.

        Args:
          panel: Its calendar and signals are read, as known at its origin.
          horizon: Days forecast.

        Returns:
          Column `h - 1` is the effect as known h days before; one column where the calendar
          was announced a horizon ahead and there are no covariates.
        """
        calendar_dtf = _as_known(self.calendar, panel, horizon)
        if not self.signals.names:
            return calendar_dtf
        ahead = range(1, horizon + 1)
        signals_dtf = np.stack(
            [self.signals.of(panel, days) for days in ahead], axis=-1
        )
        return calendar_dtf + signals_dtf


def _as_known(
    effects: CalendarEffects, panel: Panel, horizon: int
) -> Float32[np.ndarray, "depot time_ahead lead"]:
    """Effects of the calendar as known 1 to H days before; one column if all are alike."""
    if not panel.calendar.has_short_notice(effects.kinds, horizon):
        return effects.of(panel)[..., None]
    ahead = range(1, horizon + 1)
    return np.stack([effects.of(panel.known_ahead(days)) for days in ahead], axis=-1)


def no_effects(panel: Panel) -> Float32[np.ndarray, "depot time_ahead lead"]:
    """Effects of 0 on every day of a panel."""
    return np.zeros((panel.n_depots, panel.n_steps + panel.ahead, 1), np.float32)


def fit_effects(panel: Panel, horizon: int) -> Effects:
    """Fits the effects to a panel's actuals: those of covariates to what the calendar leaves.

    Args:
      panel: Demand through the origin.
      horizon: Days forecast.
    """
    calendar = fit_calendar_effects(panel)
    if not (names := covariate_names(panel)):
        return Effects(calendar, no_signals())
    residuals = calendar_residuals(panel, calendar)
    return Effects(calendar, fit_signal_effects(panel, names, *residuals, horizon))


def forward_chained_effects(
    effects: Effects, panel: Panel, horizon: int
) -> Float32[np.ndarray, "depot time_ahead lead"]:
    """Returns the effects for training: no day's are fitted to it, or to later ones.

    Only the calendar's, which have many columns; those of covariates are taken as they are.
    """
    effect_dtf = effects.of(panel, horizon)
    fitted_dtf = _as_known(effects.calendar, panel, horizon)
    for part, calendar in forward_chained_calendar_effects(panel):
        change_dtf = _as_known(calendar, panel, horizon) - fitted_dtf
        effect_dtf[:, part] += change_dtf[:, part]
    return effect_dtf
