"""Forecasts, their scores, and the checks on live forecasts.

forecast         forecasts from one origin with one model     forecast_rows  stores the rows
scoring          scores forecasts whose actuals are known     score_export   scores as a file
live_accuracy    accuracy of live forecasts, and its alarms   explanation    explains one depot
hours            hourly forecasts, and the running day        paths          paths as a file
"""
