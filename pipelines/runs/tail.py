"""Follows a run from elsewhere: what it logs, and how it and its steps end."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from forecaster.errors import NoDataError
from pipelines.database.engine import snapshot
from pipelines.runs.heartbeat import fail_stale_runs
from pipelines.store import run_lines, runs

LOOK_EVERY_S = 1.0


@dataclass(frozen=True)
class RunUpdate:
    """What is new of a run since the last look.

    Args:
      changed: It and its steps, if their state is another now.
      lines: What they have logged since, oldest first.
    """

    changed: list[dict[str, Any]]
    lines: list[dict[str, Any]]


def newest_run(engine: sa.Engine) -> int:
    """The newest run that works now; where none does, the newest of all.

    Raises:
      NoDataError: nothing has run yet.
    """
    with engine.connect() as connection:
        found = runs.newest_whole(connection)
    if found is None:
        raise NoDataError("Nothing has run yet. 'harbor nightly' runs a night.")
    return found


def follow(
    engine: sa.Engine, run_id: int, wait: Callable[[float], object]
) -> Iterator[RunUpdate]:
    """Yields what is new, until the run has ended.

    Args:
      engine: Database the pipelines own.
      run_id: Of the whole.
      wait: Lets so many seconds pass.

    Raises:
      NoDataError: there is no such run.
    """
    states: dict[int, str] = {}
    last_line = 0
    while True:
        fail_stale_runs(engine)
        with snapshot(engine) as connection:
            found = runs.run_with_steps(connection, run_id)
            lines = run_lines.lines_of(connection, run_id, after=last_line)
        if not found:
            raise NoDataError(f"There is no run {run_id}. See 'harbor runs list'.")
        changed = [row for row in found if states.get(row["run_id"]) != row["state"]]
        states = {row["run_id"]: row["state"] for row in found}
        last_line = max((line["line_id"] for line in lines), default=last_line)
        yield RunUpdate(changed, lines)
        if states[run_id] != "running":
            return
        wait(LOOK_EVERY_S)
