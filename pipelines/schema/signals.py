"""The columns of a signal's values, as `forecaster.data.signal_builder` takes them."""

SIGNAL_COLUMNS = """signal, nullif(depot_id, '') as depot_id, nullif(city, '') as city,
       day_on, value, nullif(known_from, date '0001-01-01') as known_from"""
"""Columns of `signal_versions`; its empty strings, which stand for no depot or city, become
null."""
