"""Publishes forecasts to other systems each night: as Parquet files, and by webhooks.

destination  a folder or bucket, to which files are written whole
files        forecasts, totals and scores by origin, and the latest forecast
webhooks     the JSON message to each webhook
publication  the entry point: writes files and calls webhooks as the settings require
"""
