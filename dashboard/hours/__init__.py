"""The running day on the pages.

parts    what the pages show of it
"""
