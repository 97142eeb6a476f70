"""From orders to daily demand, and from daily demand to panels.

counting         orders → daily demand per depot and local service day
panels           reads panels: the data that a model sees from an origin
feed_freshness   depots whose orders of the origin's day are missing
public_holidays  looks up public holidays, and stores them
"""
