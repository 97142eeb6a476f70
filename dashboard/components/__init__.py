"""Widgets and forms of the pages.

widgets       charts, tables, downloads, choices and notices of every page
banner        data freshness above every page       planner_name  the name of a planner
days_ahead    cached parts of page Days ahead       score_filter  filters of page Accuracy
plan_parts    parts of page Plan                    settings_form its form of a city's settings
plan_forms    the form for changes of orders        saved_change  their confirmation and Undo
what_if_form  the part "What if" of page Depot      one_day       a scored day of page Accuracy
van_form      the form for the vans of a day        running_day   the running day on the pages
"""
