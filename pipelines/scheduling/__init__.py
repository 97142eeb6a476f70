"""The scheduler of the nightly runs."""
