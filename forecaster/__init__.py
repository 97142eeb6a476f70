"""Forecasts daily orders per depot: arrays in, arrays out.

No database, no environment, no clock. `data` and `inference` need NumPy (`panel_builder`
also pandas); `model` needs JAX and is never imported by the other two, because the
dashboard's host has none.

Words
  demand      orders per depot and local day: the target
  observed    whether a day's demand is in the data; no orders is 0, not observed is NaN
  closed      a day announced to have no demand: forecast exactly 0, never scored
  regular     observed, and not a public holiday: the days of levels, profiles and spreads
  origin      a date: the last day whose actuals a forecast may see
  cutoff      an integer: number of leading steps visible; the step after the origin
  horizon     steps forecast; step h is day `origin + h`
  bias        forecast - actual; positive means too high
  level       mean log count of a depot's regular days among the last 28
  log count   log(1 + orders): the unit of the network
  baseline    forecast from the depot's own weeks, which the network corrects
  naive       the seasonal naive and the median of four weeks, which every model is scored
              beside; `has_baselines` of the scores means these
  residual    actual - baseline, log counts
  spread      mean absolute residual of a depot's regular days among the last 56: the
              unit of its shifts and intervals
  future      known future features: those of the days ahead that are known at the origin
  known at    of an event, at an origin: announced by then, and not yet replaced
  lead        days from the announcement of an event to a day of it
  point       the number that is shown and scored: the median, or a little below it
              where it is made for percentage errors
  evaluation  the fit without the validation days; production is the fit on all
  cold start  forecast of a depot without history, from its peers

Shape letters, one meaning each (but g is a gate in `numpy_gru`, and c a city in `totals`)
  D depots    T all steps      B depots in a batch   C context steps   H horizon
  F features  U hidden units   Q quantiles           N devices         O origins
  K kinds of day               L weekday lags        M head units      E embedding units
  P days of a window           S its C + H days      W weekdays        R rows (flattened axes)
  G calendars (depots that share every holiday and event share one)

Argument order is always actual, forecast.
"""
