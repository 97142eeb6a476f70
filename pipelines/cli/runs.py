"""`harbor runs`: lists, shows and follows runs."""

import math
import time
from datetime import UTC
from typing import Annotated, Any

import typer

from forecaster.errors import NoDataError
from pipelines.cli.command_group import CommandGroup
from pipelines.cli.console import echo, show_json, show_table
from pipelines.cli.context import AsJson, as_date, open_context

app = CommandGroup("runs", "What ran, and how it ended.")
STATES = ("running", "done", "failed", "skipped")


@app.command("list")
def list_runs(
    limit: Annotated[int, typer.Option(help="Runs to show.", min=1)] = 20,
    step: Annotated[
        str | None, typer.Option(help="Only this step, such as nightly or train.")
    ] = None,
    state: Annotated[
        str | None, typer.Option(help=f"Only runs in this state: {', '.join(STATES)}.")
    ] = None,
    origin: Annotated[
        str | None, typer.Option(help="Only runs of this origin.")
    ] = None,
    steps: Annotated[
        bool, typer.Option("--steps", help="Show the steps of each run, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Lists the newest runs.

    Example: `harbor runs list --state failed --limit 5`
    """
    from pipelines.runs.ledger import fail_dead_runs
    from pipelines.store import runs

    if state is not None and state not in STATES:
        raise typer.BadParameter(
            f"--state is {state!r}, but must be one of {', '.join(STATES)}."
        )
    origin_on = None if origin is None else as_date(origin, "--origin")
    options = {"step": step, "state": state, "origin_on": origin_on}
    filters = {name: value for name, value in options.items() if value is not None}
    with_steps = steps or step is not None
    with open_context() as context:
        fail_dead_runs(context.engine)
        with context.engine.connect() as connection:
            rows = runs.recent_runs(connection, limit, with_steps, filters)
    if as_json:
        show_json(rows)
    elif rows:
        _show(rows, "Newest runs", with_steps)
    else:
        that = " that matches" if filters else ""
        echo(f"There is no run{that}. 'harbor runs list' shows the newest of all runs.")


@app.command("show")
def show_run(
    run_id: int,
    lines: Annotated[int, typer.Option(help="Maximum log lines to show.", min=0)] = 50,
    as_json: AsJson = False,
) -> None:
    """Shows one run, its steps, and what they logged.

    Example: `harbor runs show 12`
    """
    from pipelines.database.engine import snapshot
    from pipelines.runs.ledger import fail_dead_runs
    from pipelines.store import run_lines, runs

    with open_context() as context:
        fail_dead_runs(context.engine)
        with snapshot(context.engine) as connection:
            rows = runs.run_with_steps(connection, run_id)
            log_lines = run_lines.lines_of(connection, run_id, limit=lines)
    if not rows:
        raise NoDataError(f"There is no run {run_id}. See 'harbor runs list'.")
    if as_json:
        show_json({"run": rows[0], "steps": rows[1:], "lines": log_lines})
        return
    _show(rows, f"Run {run_id}", True)
    for line in log_lines:
        echo(_line(line))


@app.command("follow")
def follow_run(
    run_id: Annotated[
        int | None,
        typer.Argument(help="[default: the run in progress, or the last one]"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Shows what a run logs until it ends; exits with 1 if the run failed.

    With --json it waits for the end and prints the run.

    Example: `harbor runs follow 12`
    """
    from pipelines.runs import tail
    from pipelines.store import runs

    with open_context() as context:
        followed = tail.newest_run(context.engine) if run_id is None else run_id
        for update in tail.follow(context.engine, followed, time.sleep):
            for line in update.lines:
                echo(_line(line))
            for row in update.changed:
                echo(_state(row))
        with context.engine.connect() as connection:
            rows = runs.run_with_steps(connection, followed)
    if as_json:
        show_json({"run": rows[0], "steps": rows[1:]})
    if rows[0]["state"] == "failed":
        raise typer.Exit(1)


def _show(rows: list[dict[str, Any]], title: str, with_details: bool) -> None:
    from pipelines.schema.run_metrics import describe, duration

    cells = [
        (
            str(row["run_id"]),
            row["step"],
            str(row["origin_on"] or "–"),
            row["state"],
            f"{row['started_at'].astimezone(UTC):%Y-%m-%d %H:%M:%S}",
            duration(_seconds(row)),
            row["error"] or describe(row["metrics"], with_details),
        )
        for row in rows
    ]
    columns = ("run", "step", "origin", "state", "started (UTC)", "duration", "details")
    show_table(title, columns, cells)


def _seconds(row: dict[str, Any]) -> float:
    if row["finished_at"] is None:
        return math.nan
    return float((row["finished_at"] - row["started_at"]).total_seconds())


def _line(line: dict[str, Any]) -> str:
    from pipelines.cli.logs import format_event

    if line["event"] == "traceback":
        return "".join(line["fields"]["lines"]).rstrip()
    time_of_day = f"{line['written_at'].astimezone(UTC):%H:%M:%S}"
    columns = ("level", "event", "run_id", "step")
    event = {"timestamp": time_of_day} | {name: line[name] for name in columns}
    return format_event(event | line["fields"])


def _state(row: dict[str, Any]) -> str:
    from pipelines.schema.run_metrics import describe

    of = f" of {row['origin_on']}" if row["origin_on"] else ""
    details = row["error"] or describe(row["metrics"])
    return f"{row['step']}{of} (run {row['run_id']}) {row['state']}. {details}".rstrip()
