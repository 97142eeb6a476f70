"""SQL statements of the pipelines, by table: functions that take a Connection.

Conditions and sums that the dashboard also uses are in `schema`. Statements about the server, not
about its tables, are beside their callers: locks in `runs.locks`, sessions and roles in
`database`, dumps in `backup`, the lag of a replica in `cli.replica_finding`.

Files and rows     ingest, files, quarantine, withdrawal, depots, events, signals, versions
                   (of both and of demand), signal_summaries, holidays
Daily demand       demand, order_counts, observed_zeros, partial_days, order_retention,
                   late_depots, panel, hours (past orders by hour, and hour shares ahead)
Models, forecasts  models, artefacts, forecasts, publications, published_states, scores_due,
                   score_totals, accuracy, forecast_retention, reader_views
Runs               runs, run_lines, monitoring, backfill, demo
Shared             copying (COPY into any table), table_csv (its format), temporary (tables),
                   load_timestamps (timestamps in commit order)
"""
