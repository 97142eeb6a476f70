"""Query results to tables, HTML and files for people; no I/O.

tables       display tables, also downloaded as CSV      models       those of page Models
html_grids   grids of depots × days                      plan_grids   those of page Plan
html_tables  small tables and key figures                html_parts   what grids share
html_brief   the morning brief                           workbook     the plan as Excel file
"""
