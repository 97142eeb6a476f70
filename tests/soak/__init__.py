"""What only time shows: a month of nights in minutes."""
