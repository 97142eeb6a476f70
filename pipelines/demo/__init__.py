"""A fleet that does not exist, invented for the demonstration.

It leaves as the files a partner would send, and comes in through `harbor ingest` like
anyone's. The same options and last day give the same files.

    depots    cities, depots and events, as tables
    fleet     orders by depot and day, and what moves them
    files     single orders, written by city and month, the last weeks by city and day
    stages    from nothing to a first model and its hindcasts, stage by stage
    nights    the last weeks, a nightly run each, on a simulated clock
"""
