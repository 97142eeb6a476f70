"""Monitors the program through its database: `/metrics`, `/healthz` and `/readyz`.

snapshot   reads the database, a few statements each time
metrics    metrics of a snapshot
server     answers requests from the newest snapshot
watcher    takes snapshots, probes the dashboard, sends notices
"""
