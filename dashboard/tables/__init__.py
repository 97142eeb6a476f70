"""Query results as display tables, HTML and Excel workbooks; no I/O.

display_tables  display tables                   model_list  models of page Models
html_tables     small tables                     html_grids  grids of depots × days
html_brief      the morning brief                plan_grids  grids of page Plan
workbook        pages as Excel workbooks
"""
