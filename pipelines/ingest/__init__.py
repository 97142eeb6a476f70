"""Reads files, validates their rows, and loads them; rejected rows go to quarantine.

sources  finds and opens files
rows     validates the rows of a file
load     loads the rows into tables
"""
