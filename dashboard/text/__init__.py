"""Sentences and formatted numbers for the pages.

formatting        numbers, days and names
summaries         sentences and key figures of query results
plan_summaries    those of a plan                change_summaries  those of its changes
brief             what to look at today          ranking           sort order of depots
occasions         holidays and events            depot_notices     what is unusual at a depot
run_descriptions  runs as tables
entry_problems    why a change of planned numbers is not saved
"""
