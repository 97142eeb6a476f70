"""When in the day: shifts on page Plan, and the running day on page Days ahead.

queries  what has come of the running day
parts    what the pages show of both
"""
