"""Sentences and formatted numbers for the pages.

formatting        numbers, days and names        summaries         query results
plan_summaries    a plan                         change_summaries  its changes
brief             what to look at today, and holidays and events
run_descriptions  runs as tables
"""
