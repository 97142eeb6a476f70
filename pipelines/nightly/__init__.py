"""The nightly run and its steps; `scheduling` starts it.

run    runs the steps in order, one run at a time, once per origin and data
steps  the steps, which call `ingest`, `demand`, `training`, `forecasting` and others
"""
