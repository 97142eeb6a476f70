"""Follows a run from another process: its log lines and the states of its steps."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from forecaster.errors import NoDataError
from pipelines.database.engine import snapshot
from pipelines.runs.ledger import fail_dead_runs
from pipelines.store import run_lines, runs

POLL_INTERVAL_S = 1.0


@dataclass(frozen=True)
class RunUpdate:
    """Rows of a run and its steps whose state has changed, and new log lines, oldest first."""

    changed: list[dict[str, Any]]
    lines: list[dict[str, Any]]


def newest_run(engine: sa.Engine) -> int:
    """Id of the newest run in progress, or else of the newest run.

    Raises:
      NoDataError: nothing has run yet.
    """
    with engine.connect() as connection:
        run_id = runs.newest_top_level_run(connection)
    if run_id is None:
        raise NoDataError("Nothing has run yet. 'harbor nightly' runs a night.")
    return run_id


def follow(
    engine: sa.Engine, run_id: int, wait: Callable[[float], object]
) -> Iterator[RunUpdate]:
    """Yields the changes of a top-level run until it has ended.

    Raises:
      NoDataError: there is no such run.
    """
    states: dict[int, str] = {}
    last_line = 0
    while True:
        fail_dead_runs(engine)
        with snapshot(engine) as connection:
            rows = runs.run_with_steps(connection, run_id)
            lines = run_lines.lines_of(connection, run_id, after=last_line)
        if not rows:
            raise NoDataError(f"There is no run {run_id}. See 'harbor runs list'.")
        changed = [row for row in rows if states.get(row["run_id"]) != row["state"]]
        states = {row["run_id"]: row["state"] for row in rows}
        last_line = max((line["line_id"] for line in lines), default=last_line)
        yield RunUpdate(changed, lines)
        if states[run_id] != "running":
            return
        wait(POLL_INTERVAL_S)
