"""Module `schedule` starts the nightly runs on time, and repeats those that failed."""
