"""Moves data: files → Postgres → models → forecasts, on a schedule.

`settings` alone reads the environment. Everything in the database is written from here, but
what people save on the pages: planners' overrides and city settings, through functions of the
database, and, where allowed, the champion, through `training.manual_promotion`.

cli         the commands               settings    from the environment and harbor.toml
ingest      files → rows               demand      rows → daily demand → panels
training    panels → models            forecasting panels → forecasts, scores
nightly     all of that, every night   scheduling  when a night starts
backfill    past origins               runs        the ledger of what ran
store       SQL statements             schema      tables
database    engines, migrations        backup      of database and artefacts
monitoring  metrics and notifications  demo        an invented fleet
pruning     of what is old         arrivals    of files in a folder
"""
