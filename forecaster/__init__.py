"""Forecasts daily orders per depot: arrays in, arrays out.

No database, no environment, no clock. `data` and `inference` need NumPy (`panel_builder`
also pandas); `model` needs JAX and is never imported by the other two, because the
dashboard's host has none.

Words
  demand      orders per depot and local day: the target
  observed    whether a day's demand is known; no orders is 0, not known is NaN
  closed      a day known to have no demand: forecast exactly 0, never scored
  origin      a date: the last day whose actuals a forecast may see
  cutoff      an integer: number of leading steps visible
  horizon     steps forecast; step h is day `origin + h`
  bias        forecast - actual; positive means too high
  level       a depot's recent mean log demand, from the past only
  log count   log(1 + orders): the unit of the network
  baseline    forecast from the depot's own weeks, which the network corrects
  residual    actual - baseline, log counts
  spread      recent mean absolute residual of a depot
  evaluation  the fit without the validation days; production is the fit on all
  cold start  forecast of a depot without history, from its peers

Shape letters, one meaning each
  D depots    T all steps      B depots in a batch   C context steps   H horizon
  F features  U hidden units   Q quantiles           N devices         K repeats, kinds
  G calendars (depots that share every holiday and event share one)

Argument order is always actual, forecast.
"""
