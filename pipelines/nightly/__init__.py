"""The nightly run and its steps; `scheduling` says when it starts.

run    the steps in order, one run at a time, once per origin and data
steps  each step, by the functions of `ingest`, `demand`, `training` and `forecasting`
"""
