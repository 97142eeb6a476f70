"""An invented fleet for the demonstration.

Its orders are written to files like those that partners send, and loaded as `harbor ingest`
loads any file. The same options and last day give the same files.

    depots    cities, depots and events, as tables
    fleet     orders by depot and day, and the effects on them
    files     order files, one per city and month; for the newest days, one per city and day
    stages    from an empty database to a first model and its hindcasts, in stages
    nights    the newest days, one nightly run each, on a simulated clock
"""
