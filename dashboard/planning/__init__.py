"""Vans and drivers per depot and day, and planners' overrides."""
