"""Scenarios of a forecast, and the contributions to it, computed on the CPU: `what_if`."""
