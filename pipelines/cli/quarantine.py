"""`harbor quarantine`: rows that were put aside, and why."""

from typing import Annotated, Any

import typer

from forecaster.errors import NoDataError
from pipelines.cli.console import say, show_json, show_table
from pipelines.cli.workplace import AsJson, workplace
from pipelines.store import quarantine

app = typer.Typer(
    name="quarantine", help="Rows that were put aside, and why.", no_args_is_help=True
)


@app.command("list")
def list_rejected(
    file: Annotated[
        str | None, typer.Option(help="Only files whose path holds this.")
    ] = None,
    limit: Annotated[int, typer.Option(help="Rows to show.", min=1)] = 50,
    as_json: AsJson = False,
) -> None:
    """Lists the newest rows in quarantine.

    Example: `harbor quarantine list --file orders-2026-03`
    """
    with workplace() as place, place.engine.connect() as connection:
        found = quarantine.newest_rejected(connection, limit, file)
        in_all = quarantine.count_rejected(connection, file)
    if as_json:
        show_json(found)
        return
    if not found:
        say("No row is in quarantine.")
        return
    columns = ("id", "file", "line", "column", "value", "reason")
    show_table("In quarantine", columns, [_row(row) for row in found])
    if in_all > len(found):
        say(f"{len(found)} of {in_all:,} rows; ask for more with --limit.")


@app.command("show")
def show_rejected(quarantine_id: int, as_json: AsJson = False) -> None:
    """Shows one row in quarantine with all its cells.

    Example: `harbor quarantine show 12`
    """
    with workplace() as place, place.engine.connect() as connection:
        found = quarantine.rejected(connection, quarantine_id)
    if found is None:
        raise NoDataError(
            f"There is no row {quarantine_id} in quarantine. See 'harbor quarantine list'."
        )
    if as_json:
        show_json(found)
        return
    for name in ("path", "kind", "line", "column", "value", "reason", "loaded_at"):
        say(f"{name.replace('_', ' ')}: {_told(found[name])}")
    say(f"cells: {found['raw']}")


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    name = row["path"].rsplit("/", 1)[-1]
    told = (row["line"], row["column"], row["value"], row["reason"])
    return (str(row["quarantine_id"]), name, *(_told(value) for value in told))


def _told(value: object) -> str:
    return "–" if value is None else str(value)
