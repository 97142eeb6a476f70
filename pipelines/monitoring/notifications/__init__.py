"""Tells people by webhook and mail when nights fail, work again, or do not come at all.

deciding   what is worth telling, from the ledger; a pure rule
channels   the ways out
sending    each notice once for each channel, tried again a while where it cannot be sent
telling    what the watch hands over: nights, and a database that is away
"""
