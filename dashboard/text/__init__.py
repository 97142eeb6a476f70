"""Numbers, days and findings as sentences."""
