"""Forecasts daily orders per depot: arrays in, arrays out.

It reads no database, no environment variables and no clock. `load` and `forecast` are the entry
points for notebooks, see `dataframes`. `data` and `inference` need NumPy (`panel_builder` and
`signal_builder`, which serving does not import, also pandas); `model` needs JAX and is not imported
by the other two, because the dashboard's host has no JAX. `hours` splits a day's orders into hours.

Words
  demand      orders per depot and local day: the target
  observed    whether a day's demand is in the data; a day without orders is 0, one not
              observed is NaN
  closed      a day announced to have no demand: forecast exactly 0, never scored
  regular     observed, not a public holiday, and without a large effect; levels,
              profiles and spreads are computed from regular days
  origin      a date: the last day whose actuals a forecast may see
  cutoff      an integer: number of visible leading steps, and the step after the origin
  horizon     steps forecast; step h is day `origin + h`
  bias        forecast - actual; positive means too high
  level       mean log count of a depot's regular days among the last 28
  log count   log(1 + orders): the unit of the network
  baseline    forecast from the depot's own past weeks; the network corrects it
  naive       the seasonal naive and the median of four weeks, scored along with
              every model
  correction  the network's addition to the baseline, log counts
  share       the fraction of the correction that is added, from 0 (baseline) to 1
  residual    actual - baseline, log counts
  spread      mean absolute residual of a depot's regular days among the last 56: the
              unit of its shifts and intervals
  interval    80 % prediction interval, between its bounds p10 and p90; on the dashboard
              and in tables for people, the 80 % band
  point       the number that is shown and scored: the median, or a little below it
              to lower percentage errors
  kind        category of a day: `holiday`, `holiday: NAME`, or the kind of an event
  effect      estimated change of a day's log count due to its kinds and signals
  signal      a numeric known future covariate, such as orders already booked
  future      features of the days ahead that are known at the origin
  known at    an event is known at an origin if announced and not replaced by then
  lead        days from the announcement of an event to a day of it
  live        a forecast is live if made within 36 hours of the end of its origin
  hindcast    a forecast made in retrospect, from a past origin; never live
  holdout     the last days, hidden from a fit, on which it is scored and calibrated
  evaluation  the fit without the validation days; production is the fit on all days
  artefact    a fit exported to one file, with everything that serving it needs
  champion    the model whose forecasts are published; a challenger is a newer one
  canary      a challenger's forecast, checked before the model may become champion
  cold start  forecast of a depot without history, from its peers

Shape letters
  D depots    T all steps      B depots in a batch   C context steps   H horizon
  F features  U hidden units   Q quantiles           O origins         K kinds of day
  L weekday lags               M head units          E embedding units W weekdays
  P days of a window           S its C + H days      R rows (flattened axes)
  G calendars (depots that share every holiday and event share one)

In `numpy_gru` g is a gate and m a member; in `totals` and `calendar_effects` c is a city; n is
a local count or index, such as of devices, order counts, or cells (a city and a calendar).

Argument order is always actual, forecast.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forecaster.dataframes import forecast, load

__all__ = ["forecast", "load"]


def __getattr__(name: str) -> Any:
    """Imports `dataframes` when first used, so that serving needs no pandas."""
    if name in __all__:
        from forecaster import dataframes

        return getattr(dataframes, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
