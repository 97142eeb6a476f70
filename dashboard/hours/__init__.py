"""When in the day: shifts on page Plan, and the running day on page Days ahead.

queries  shares of hours, and what has come of the running day
shifts   a city's shifts, and the orders, vans and drivers of each
parts    what the pages show of both
"""
