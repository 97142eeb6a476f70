"""The Postgres that comes with the program, started and stopped.

The first command that needs it starts it, apart from the terminal's signals; every user
of it holds a shared lock; the last one out stops it; one left by a crash is adopted, or
recovered.

  binaries   where the programs of PostgreSQL are, and which account may run them
  cluster    one data directory: where it lies, whose it is, how it is reached
  outside    a cluster that root keeps outside of its home, and which home it belongs to
  remains    the stale pid file of a crash, or of a copy's original
  server     made, configured, started, stopped
  lifetime   who uses it now: the locks, and the door `running`
"""

from pipelines.database.embedded.usage_locks import running

__all__ = ["running"]
