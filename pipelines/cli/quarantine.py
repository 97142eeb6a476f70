"""`harbor quarantine`: lists, shows and replays rejected rows."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from forecaster.errors import NoDataError, NothingToDoError
from pipelines.cli.command_group import CommandGroup
from pipelines.cli.console import echo, show_json, show_list
from pipelines.cli.context import AsJson, FilePath, open_context
from pipelines.cli.ingest import Columns, DateFormat, Decimal, file_options

if TYPE_CHECKING:
    from pipelines.store.quarantine import QuarantinedRow

app = CommandGroup("quarantine", "Rejected rows, and why they were rejected.")


@app.command("list")
def list_rejected(
    file: FilePath = None,
    limit: Annotated[int, typer.Option(help="Rows to show.", min=1)] = 50,
    as_json: AsJson = False,
) -> None:
    """Lists the newest rows in quarantine.

    Example: `harbor quarantine list --file orders-2026-03`
    """
    from pipelines.store import quarantine

    with open_context() as context, context.engine.connect() as connection:
        rows, n_all = quarantine.newest_rejected(connection, limit, file)
    empty = "No rows are in quarantine."
    if file is not None:
        empty = "No rows of files with that in their path are in quarantine."
    show_list("In quarantine", rows, _row, as_json=as_json, empty=empty, n_all=n_all)


@app.command("show")
def show_rejected(quarantine_id: int, as_json: AsJson = False) -> None:
    """Shows one row in quarantine with all its cells.

    Example: `harbor quarantine show 12`
    """
    from pipelines.store import quarantine

    with open_context() as context, context.engine.connect() as connection:
        row = quarantine.rejected(connection, quarantine_id)
    if row is None:
        raise NoDataError(
            f"There is no row {quarantine_id} in quarantine. See 'harbor quarantine list'."
        )
    if as_json:
        show_json(asdict(row))
        return
    for name, value in asdict(row).items():
        if name not in ("quarantine_id", "file_id", "raw"):
            echo(f"{name.replace('_', ' ')}: {_text(value)}")
    echo(f"cells: {row.raw}")


@app.command("replay")
def replay_rejected(
    file: FilePath = None,
    column: Columns = None,
    date_format: DateFormat = None,
    decimal: Decimal = None,
    as_json: AsJson = False,
) -> None:
    """Validates rows in quarantine again, and loads those that are valid now.

    They count as loaded when their file was: rows of later files still replace them.

    Example: `harbor quarantine replay --file orders-2026-03 --date-format %d/%m/%Y`
    """
    from pipelines.ingest.load.replay import replay_and_count
    from pipelines.runs.ledger import recorded

    options = file_options(column, date_format=date_format, decimal=decimal)
    with open_context() as context, recorded(context.engine, "replay") as run:
        result = replay_and_count(run, options, context.settings, context.now, file)
    if as_json:
        show_json(asdict(result))
    for reason in result.reasons:
        echo(reason)
    if not result.accepted + result.unchanged:
        raise NothingToDoError(
            f"No rows could be loaded from quarantine; still there: {result.left:,}. "
            "'harbor quarantine list' says why."
        )
    if not as_json:
        echo(
            f"Rows loaded: {result.accepted:,}; known already or replaced since: "
            f"{result.unchanged:,}; still in quarantine: {result.left:,}."
        )


def _row(row: QuarantinedRow) -> dict[str, str]:
    return {
        "id": str(row.quarantine_id),
        "file": row.path.rsplit("/", 1)[-1],
        "line": _text(row.line),
        "column": _text(row.column),
        "value": _text(row.value),
        "reason": row.reason,
    }


def _text(value: object) -> str:
    return "–" if value is None else str(value)
