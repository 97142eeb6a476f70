"""Query results to tables, HTML and files for people; no I/O.

display_tables  display tables, and CSV          model_list  that of page Models
html_tables     small tables                     html_grids  grids of depots × days
html_brief      the morning brief                plan_grids  those of page Plan
workbook        the plan as Excel file
"""
