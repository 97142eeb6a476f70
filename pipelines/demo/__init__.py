"""A fleet that does not exist, invented for the demonstration.

It leaves as the files a partner would send, and comes in through `harbor ingest` like
anyone's. The same seed and last day give the same files; only `stages` reads the clock.
"""
