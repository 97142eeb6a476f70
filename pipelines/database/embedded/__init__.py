"""Starts and stops the embedded Postgres.

The first process that needs the server starts it, shielded from the terminal's signals.
Every process that uses the server holds a shared lock, and the last one stops the server.
After a crash, a server that still runs is used again; one that has ended is recovered.

  binaries         the programs of PostgreSQL, and the account that runs them
  cluster          one data directory: its place, owner and URL
  server           creates, configures, starts and stops the server
  stale_pidfile    removes a pid file left by a crash or copied with a home
  usage_locks      tracks by locks which processes use the server; `running` is the entry point
"""

from pipelines.database.embedded.usage_locks import running

__all__ = ["running"]
