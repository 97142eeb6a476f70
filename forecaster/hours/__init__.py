"""Orders within a day: shares of the hours, hourly forecasts, and the running day's estimate.

day_shape  share of each hour in a day's orders, from past days
hourly     orders of each hour ahead, with their 80 % band
today      estimate of the running day's total, from its orders so far

An hour is the hour on the depot's clock, 0 to 23.
"""
