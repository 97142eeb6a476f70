"""What other systems are given each night: Parquet files, and a call of their webhooks.

destination  a folder or bucket, to which files are written whole
files        forecasts, totals and scores by origin, and the latest forecast
webhooks     the JSON message
publication  both, from the settings: the entrance
"""
