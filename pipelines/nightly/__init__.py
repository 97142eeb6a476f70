"""The nightly run and its steps."""
