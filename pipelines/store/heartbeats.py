"""Signs of life of processes that are no run."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from pipelines.schema import heartbeats
from pipelines.store.runs import NOW


def beat(connection: sa.Connection, process: str, at: tuple[str, int]) -> None:
    """Writes down that a process is alive.

    Args:
      connection: Inside a transaction.
      process: What it does; the newest one to do it has the row.
      at: Its host and pid.
    """
    host, pid = at
    values = {"host": host, "pid": pid, "heartbeat_at": NOW}
    statement = insert(heartbeats).values(process=process, **values)
    connection.execute(
        statement.on_conflict_do_update(index_elements=["process"], set_=values)
    )
