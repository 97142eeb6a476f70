"""A fleet that does not exist, invented for the demonstration and for tests.

It leaves as the files a partner would send, and comes in through `harbor ingest` like
anyone's. The same seed gives the same files; nothing here reads a clock.

    places    cities, depots, and what each depot is like
    calendar  holidays, pay days and Black Friday, by city
    events    promotions and closures, known in advance
    shape     what all of that makes of the orders expected per depot and day
    fleet     the whole fleet, with its orders counted
    orders    those counts as single orders, month by month
    files     orders, depots and events written as files
    manifest  what a folder holds, so that a second demo finds the first one's fleet
"""
