"""The columns of a signal's values, as `forecaster.data.signal_builder` takes them."""

SIGNAL_COLUMNS = """signal, nullif(depot_id, '') as depot_id, nullif(city, '') as city,
       day_on, value, nullif(known_from, date '0001-01-01') as known_from"""
"""Of `signal_versions`, where an empty string stands for no depot or city."""
