"""When in the day orders come: shares of each hour, hourly forecasts, and the running day.

day_shape  shares of the hours of a day, from the hours of past days
hourly     orders of each hour ahead, with their band
today      where the running day is heading, from what has come so far

An hour is the hour on the depot's clock, 0 to 23.
"""
