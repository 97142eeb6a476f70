"""Scenarios and drivers of a forecast, computed on the CPU: `what_if`."""
