"""Monitors the program through its database: `/metrics`, `/healthz` and `/readyz`.

metrics         reads samples from the database, and converts them to Prometheus metrics
watcher         takes snapshots, probes the dashboard, sends notifications
server          answers requests from the newest snapshot
notifications   reports failed and recovered nights, and sends the morning message, by Apprise
"""
