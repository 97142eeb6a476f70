"""Files to validated rows of every kind, and the quarantine.

sources  where files come from
rows     a file becomes checked rows
load     rows become tables
"""
