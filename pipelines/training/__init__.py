"""Trains, evaluates and promotes models; the JAX runtime they train on.

train             trains on the panel, exports, records the challenger
backtesting       forecasts past days, and scores them beside the naive forecasts
canary            a trial forecast of a new model beside the champion's
promotion         whether a challenger becomes champion    manual_promotion  by hand
jax_runtime       configures JAX before it starts          accelerators      of this machine
"""
