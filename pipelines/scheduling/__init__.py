"""Starts the nightly runs at their hour, and again if one failed: `schedule`."""
