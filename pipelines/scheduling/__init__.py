"""`schedule` starts the nightly runs of `nightly` at their hour, and again where one failed."""
