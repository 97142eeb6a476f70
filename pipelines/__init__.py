"""Moves data: the only room that writes, schedules, or reads the environment."""
