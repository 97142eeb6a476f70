"""Forecasts daily orders per depot: arrays in, arrays out.

No database, no environment, no clock. Two floors: everything up to `infer` needs NumPy
and pandas; `model`, `losses`, `train`, `fitting`, `checkpoint`, `export` and `learning`
need JAX and are never imported by the floor below, because the dashboard's host has none.

Words
  demand      orders per depot and local day: the target
  observed    whether a day's demand is known; no orders is 0, not known is NaN
  closed      a day known to have no demand: forecast exactly 0, never scored
  origin      a date: the last day whose actuals a forecast may see
  cutoff      an integer: number of leading steps visible
  horizon     steps forecast; step h is day `origin + h`
  bias        forecast - actual; positive means too high
  level       a depot's recent mean log demand, from the past only

Shape letters, one meaning each
  D depots    T all steps      B depots in a batch   C context steps   H horizon
  F features  U hidden units   Q quantiles           N devices         K repeats, kinds
  G calendars (depots that share every holiday and event share one)

Argument order is always actual, forecast.
"""
