"""Moves data: files → Postgres → models → forecasts, on a schedule.

Only `settings` reads the environment. Everything in the database is written from here, except
what planners save on the pages through functions of the database: overrides, van decisions
and city settings.

cli         the commands               settings    from the environment and harbor.toml
ingest      files → rows               demand      rows → daily demand → panels
training    panels → models            forecasting panels → forecasts, scores
planning    forecasts → van plan       publishing  forecasts to other systems
nightly     all of that, every night   scheduling  when a night starts
backfill    past origins               runs        the ledger of runs
store       SQL statements             schema      tables
database    engines, migrations        backup      database and artefacts
monitoring  metrics and notifications  demo        an invented fleet
pruning     removes old data           arrivals    new files in a folder
"""
