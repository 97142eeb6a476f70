"""`harbor files`: lists and withdraws loaded files."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.command_group import CommandGroup
from pipelines.cli.console import echo, show_json, show_list
from pipelines.cli.context import AsJson, FilePath, open_context

if TYPE_CHECKING:
    from pipelines.ingest.load.withdrawal import Withdrawal
    from pipelines.store.files import LoadedFile

app = CommandGroup("files", "Loaded files, and withdrawing them.")


@app.command("list")
def list_files(
    file: FilePath = None,
    limit: Annotated[int, typer.Option(help="Files to show.", min=1)] = 50,
    as_json: AsJson = False,
) -> None:
    """Lists the newest loaded files, withdrawn ones included.

    Example: `harbor files list --file orders-2026-03`
    """
    from pipelines.store import files

    with open_context() as context, context.engine.connect() as connection:
        newest, n_all = files.newest_files(connection, limit, file)
    empty = "No file has been loaded."
    if file is not None:
        empty = "No loaded file has that in its path."
    show_list(
        "Files", newest, _row, as_json=as_json, empty=empty, n_all=n_all, noun="files"
    )


@app.command("withdraw")
def withdraw_files(
    file_ids: Annotated[
        list[int],
        typer.Argument(
            metavar="FILE_ID...", help="Number of a file; 'harbor files list' shows it."
        ),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would happen; change nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Withdraws loaded files of orders, daily counts or signals; counts demand again.

    Where the file had replaced rows of an earlier file, those rows count again. The file
    may be loaded once more; it then counts as the newest.

    Example: `harbor files withdraw 12`
    """
    from pipelines.ingest.load.withdrawal import withdraw, withdraw_and_count
    from pipelines.runs.ledger import recorded

    with open_context() as context:
        if dry_run:
            withdrawal = withdraw(context.engine, file_ids, dry_run=True)
        else:
            with recorded(context.engine, "withdraw") as run:
                withdrawal = withdraw_and_count(run, context.now, file_ids)
    if as_json:
        files = [asdict(each) for each in withdrawal.files]
        frozen = {"frozen_before": withdrawal.frozen_before}
        show_json({"files": files, **withdrawal.counts(), **frozen})
        return
    _show(withdrawal)
    if dry_run:
        echo("Nothing was changed; this was a dry run.")


def _show(withdrawal: Withdrawal) -> None:
    names = ", ".join(f"{each.file_id} ({_name(each)})" for each in withdrawal.files)
    echo(
        f"Withdrawn: {names}. Rows removed: {withdrawal.removed:,}; of these replaced by "
        f"an earlier file's row: {withdrawal.restored:,}."
    )
    if withdrawal.depots:
        echo(f"Depots removed, which no file names any more: {withdrawal.depots:,}.")
    if withdrawal.frozen_before is not None:
        echo(
            f"Days before {withdrawal.frozen_before} are frozen, because their orders were dropped: "
            "what these files counted there stays."
        )


def _row(each: LoadedFile) -> dict[str, object]:
    return {
        "id": str(each.file_id),
        "file": _name(each),
        "kind": each.kind,
        "accepted": each.accepted,
        "unchanged": each.unchanged,
        "rejected": each.rejected,
        "loaded (UTC)": f"{each.loaded_at.astimezone(UTC):%Y-%m-%d %H:%M}",
        "state": "loaded" if each.withdrawn_at is None else "withdrawn",
    }


def _name(each: LoadedFile) -> str:
    return each.path.rsplit("/", 1)[-1]
