"""A soak test: a month of nights in minutes."""
