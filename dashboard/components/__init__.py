"""Widgets and forms of the pages.

widgets       charts, tables, choices, notices      page_head     title, Copy link and Excel
banner        data freshness above every page       planner_name  the name of a planner
days_ahead    cached parts of page Days ahead       score_filter  filters of page Accuracy
plan_parts    parts of page Plan                    settings_form form for a city's settings
plan_forms    form for changes of orders            saved_change  state of the forms, and Undo
what_if_form  section "What if" of page Depot       one_day       a scored day of page Accuracy
van_form      form for the vans of a day            running_day   the running day on the pages
"""
