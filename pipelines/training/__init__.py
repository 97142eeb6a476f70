"""Trains, evaluates and promotes models, and configures the JAX runtime they train on.

train             trains on the panel, exports, records the challenger
backtesting       forecasts past days, and scores them with the naive forecasts
canary            checks a trial forecast of a new model against the champion's
promotion         promotes or rejects a challenger         manual_promotion  promotion by hand
jax_runtime       configures JAX before it starts          accelerators      GPUs and TPUs
"""
