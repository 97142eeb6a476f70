"""The van plan: vans, shifts, settings and decisions of each city, and the morning message."""
