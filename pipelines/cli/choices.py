"""Choices and defaults of options, as help texts list them.

The modules that define them import the database or NumPy, which takes longer than showing
a help text may. A test compares the two.
"""

BACKTEST_NAIVE_FORECASTS = ("seasonal_naive", "median4")
SCORE_SEGMENTS = ("depot", "city", "horizon", "model")
