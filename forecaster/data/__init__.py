"""Panels, the calendar, and the features and windows that the network reads."""
