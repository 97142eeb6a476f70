"""`harbor runs`: what ran, and how it ended."""

from datetime import UTC
from typing import Annotated, Any

import typer

from forecaster.errors import NoDataError
from pipelines.cli.console import show_json, show_table
from pipelines.cli.workplace import AsJson, workplace
from pipelines.heartbeat import give_up_lost_runs
from pipelines.store import runs

app = typer.Typer(name="runs", help="What ran, and how it ended.", no_args_is_help=True)


@app.command("list")
def list_runs(
    limit: Annotated[int, typer.Option(help="Runs to show.", min=1)] = 20,
    as_json: AsJson = False,
) -> None:
    """Lists the newest runs.

    Example: `harbor runs list --limit 5`
    """
    with workplace() as place:
        give_up_lost_runs(place.engine)
        with place.engine.connect() as connection:
            found = runs.recent_runs(connection, limit)
    _show(found, "Newest runs", as_json)


@app.command("show")
def show_run(run_id: int, as_json: AsJson = False) -> None:
    """Shows one run and its steps.

    Example: `harbor runs show 12`
    """
    with workplace() as place:
        give_up_lost_runs(place.engine)
        with place.engine.connect() as connection:
            found = runs.run_with_steps(connection, run_id)
    if not found:
        raise NoDataError(f"There is no run {run_id}. See 'harbor runs list'.")
    _show(found, f"Run {run_id}", as_json)


def _show(found: list[dict[str, Any]], title: str, as_json: bool) -> None:
    if as_json:
        show_json(found)
        return
    rows = [
        (
            str(row["run_id"]),
            row["step"],
            str(row["origin_on"] or "–"),
            row["state"],
            f"{row['started_at'].astimezone(UTC):%Y-%m-%d %H:%M:%S}",
            _took(row),
            row["error"] or _counts(row["counts"]),
        )
        for row in found
    ]
    columns = ("run", "step", "origin", "state", "started (UTC)", "took", "what")
    show_table(title, columns, rows)


def _took(row: dict[str, Any]) -> str:
    if row["finished_at"] is None:
        return "–"
    return f"{(row['finished_at'] - row['started_at']).total_seconds():.1f} s"


def _counts(counts: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in counts.items())
