"""Shows how the program does: `/metrics`, `/healthz`, `/readyz`, from the database.

look       reads the database, a few statements each time
numbers    a look as numbers with names
server     answers who asks, from the newest look
watcher    looks again and again, asks the dashboard, has notices sent
"""
