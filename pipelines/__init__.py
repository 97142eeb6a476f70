"""Moves data: files → Postgres → models → forecasts, on a schedule.

`settings` alone reads the environment. Everything in the database is written from here, but
what people save on the pages: planners' overrides and city settings, through functions of the
database, and, where allowed, the champion, through `training.manual_promotion`.
"""
