"""Forecasts, their scores, and the checks on live forecasts."""
