"""Monitors the program through its database: `/metrics`, `/healthz` and `/readyz`.

metrics         reads the database, and converts what it finds to Prometheus metrics
watcher         takes snapshots, probes the dashboard, sends notifications
server          answers requests from the newest snapshot
notifications   a nightly run failed, or runs succeed again: by Apprise
"""
