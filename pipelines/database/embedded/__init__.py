"""Starts and stops the embedded Postgres.

The first process that needs the server starts it, shielded from the terminal's signals.
Every user of it holds a shared lock, and the last one stops it. A server left by a crash is
used on, or recovered.

  binaries         the programs of PostgreSQL, and the account that runs them
  cluster          one data directory: its place, owner and URL
  server           creates, configures, starts and stops the server
  stale_pidfile    removes the pid file of a crash, or of a copied home
  usage_locks      counts the users by locks; `running` is the entry point
"""

from pipelines.database.embedded.usage_locks import running

__all__ = ["running"]
