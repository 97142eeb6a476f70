"""Statements for the log lines of runs."""

from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from pipelines.schema import run_lines, runs


def write_line(connection: sa.Connection, **columns: Any) -> None:
    """Writes one event of a run; its `fields` are text, numbers and booleans."""
    connection.execute(sa.insert(run_lines).values(**columns))


def lines_of(
    connection: sa.Connection, run_id: int, after: int = 0, limit: int | None = None
) -> list[dict[str, Any]]:
    """Log lines of a top-level run and of its steps, each with its step, oldest first.

    Only lines with a line_id greater than `after`. If there are more than `limit`, the oldest
    lines of level info are left out first, unless they name a refused file.
    """
    step = sa.select(runs.c.run_id).where(runs.c.parent_id == run_id)
    statement = (
        sa.select(run_lines, runs.c.step)
        .join(runs, runs.c.run_id == run_lines.c.run_id)
        .where(
            (run_lines.c.run_id == run_id) | run_lines.c.run_id.in_(step),
            run_lines.c.line_id > after,
        )
        .order_by(
            (run_lines.c.level == "info")
            & (run_lines.c.fields["state"].astext.is_distinct_from("refused")),
            run_lines.c.line_id.desc(),
        )
        .limit(limit)
    )
    rows = connection.execute(statement).mappings()
    return sorted((dict(row) for row in rows), key=lambda row: int(row["line_id"]))


def delete_old_lines(connection: sa.Connection, age: timedelta) -> None:
    """Deletes lines older than `age`; their runs stay."""
    old = run_lines.c.written_at < sa.func.clock_timestamp() - age
    connection.execute(sa.delete(run_lines).where(old))
