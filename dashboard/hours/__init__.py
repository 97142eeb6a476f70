"""The running day on the pages.

queries  what has come of the running day
parts    what the pages show of it
"""
