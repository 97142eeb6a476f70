"""Forecasts, their scores, and the checks on live forecasts.

forecast         forecasts from one origin with one model     forecast_rows  stores the rows
scoring          scores forecasts whose actuals are known
live_accuracy    accuracy of live forecasts, and the alarms on it
"""
