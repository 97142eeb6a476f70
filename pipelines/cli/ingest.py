"""`harbor ingest`: loads files, and reports on each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forecaster.errors import BadInputError, NothingToDoError, RefusedFileError
from pipelines.cli.console import echo, progress, show_json, show_table
from pipelines.cli.context import AsJson, CommandContext, open_context
from pipelines.cli.stopping import report_interruption

if TYPE_CHECKING:
    from pipelines.ingest.load import FileOptions, IngestReport, LoadProgress

MAX_REASONS_SHOWN = 5
UNCHANGED = "Nothing was changed."
INTERRUPTION_MESSAGE = (
    "Files before the current one are kept, except those stored together with it. The "
    "same command continues from there."
)


Columns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=FILE_COLUMN",
        help="Map a column of the file to one of Harbor Fleet; may be repeated.",
    ),
]
DateFormat = Annotated[
    str | None,
    typer.Option(help="Format of dates that are not ISO 8601: %m/%d/%Y or %d/%m/%Y."),
]
Decimal = Annotated[
    str | None,
    typer.Option(help="Decimal separator, . or ,; the other one groups thousands."),
]


def ingest_files(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...", help="Files, folders, URLs, or - for standard input."
        ),
    ],
    kind: Annotated[
        str | None,
        typer.Option(
            help="depots, orders, daily, events, signals. [default: by columns]"
        ),
    ] = None,
    column: Columns = None,
    date_format: DateFormat = None,
    encoding: Annotated[
        str | None, typer.Option(help="Encoding of text files. [default: utf-8]")
    ] = None,
    decimal: Decimal = None,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of a source in harbor.toml. [default: by the file's name]",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Skip the plausibility check of order ids (many orders changing depot or day, "
            "or most ids repeated).",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would happen; change nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Loads depots, orders, daily counts, events and signals; safe to repeat.

    Reads .csv, .tsv (both also as .gz), .parquet, .xlsx, and .zip of these, from files,
    folders, http(s)://, s3://, gs://, abfs:// (Azure), or standard input.

    Example: `harbor ingest orders/ --column depot_id="Base Number"`
    """
    from pipelines.ingest.load import ingest, ingest_and_count
    from pipelines.ingest.sources.spool import STDIN
    from pipelines.runs.ledger import recorded

    if not all(path.strip() for path in paths):
        raise typer.BadParameter(
            "PATH is empty, but names a file, a folder or a URL. Look at the variable it "
            "came from; '.' is the current folder."
        )
    if STDIN in paths and kind is None:
        raise typer.BadParameter(
            "Standard input has no name: give its kind with --kind."
        )
    options = file_options(
        column, kind=kind, date_format=date_format, encoding=encoding, decimal=decimal,
        source=source, force=force,
    )  # fmt: skip
    with (
        report_interruption(UNCHANGED if dry_run else INTERRUPTION_MESSAGE),
        open_context() as context,
    ):
        _require_known_source(options, context)
        with _progress() as told:
            what = paths, options, context.settings, told
            if dry_run:
                report = ingest(context.engine, *what, dry_run=True)
            else:
                with recorded(context.engine, "ingest") as run:
                    report = ingest_and_count(run, context.now, *what)
    if as_json:
        show_json(report.as_json())
    else:
        _show(report, dry_run)
    _raise_unless_loaded(report, paths, dry_run)


def file_options(columns: list[str] | None, **options: Any) -> FileOptions:
    """Returns the options for reading files, from the values of --column and other options.

    Raises:
      BadParameter: an option is invalid.
    """
    from pipelines.ingest.load import FileOptions

    mapping = {}
    for pair in columns or []:
        name, equals, file_column = pair.partition("=")
        if not (name.strip() and equals and file_column.strip()):
            raise typer.BadParameter(
                f"--column is {pair!r}, but must be NAME=FILE_COLUMN, as in "
                '--column depot_id="Base Number".'
            )
        mapping[name.strip()] = file_column.strip()
    try:
        return FileOptions(columns=mapping, **options)
    except BadInputError as error:
        raise typer.BadParameter(str(error)) from None


def _require_known_source(options: FileOptions, context: CommandContext) -> None:
    """Refuses an unknown source before a run is recorded."""
    from pipelines.ingest.rows.options import DEFAULT_SOURCE, options_of_source

    try:
        options_of_source(
            options.source or DEFAULT_SOURCE, options, context.settings.sources
        )
    except BadInputError as error:
        raise typer.BadParameter(str(error)) from None


@contextmanager
def _progress() -> Iterator[Callable[[LoadProgress], None]]:
    with progress("Reading", None, in_bytes=True) as bar:

        def update(state: LoadProgress) -> None:
            bar.update(
                bar.task_ids[0],
                description=f"{state.name}, {state.rows:,} rows",
                completed=state.done,
                total=state.total,
            )

        yield update


def _show(report: IngestReport, dry_run: bool) -> None:
    rows = [
        (file.path, file.kind or "–", file.state, *vars(file.counts).values())
        for file in report.files
    ]
    columns = ("file", "kind", "state", "accepted", "unchanged", "rejected")
    show_table("Files (dry run)" if dry_run else "Files", columns, rows)
    files_of_note: dict[str, list[str]] = {}
    for file in report.files:
        for note in file.notes:
            files_of_note.setdefault(note, []).append(file.path.rsplit("/", 1)[-1])
    for note, names in files_of_note.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        echo(f"{names[0]}{more}: {note}")
    for note in report.notes:
        echo(note)
    if dry_run:
        echo("Nothing was changed; this was a dry run.")


def _raise_unless_loaded(report: IngestReport, paths: list[str], dry_run: bool) -> None:
    """Raises an error if a file was refused (exit code 1) or nothing was new (exit code 3)."""
    from pipelines.ingest.sources.files import SUFFIXES

    refused = report.refused
    if refused:
        # One line each: five sentences on a single line are hard to read.
        reasons = [str(file.error) for file in refused[:MAX_REASONS_SHOWN]]
        if (more := len(refused) - MAX_REASONS_SHOWN) > 0:
            reasons.append(f"And {more} more.")
        lines = "\n".join(reasons)
        raise RefusedFileError(f"{lines} {_other_files(report, dry_run)}")
    if not report.files:
        raise NothingToDoError(
            f"There is nothing to load in {', '.join(paths)}: no file there ends in "
            f"{', '.join(SUFFIXES)}."
        )
    if report.is_nothing_new:
        waiting = len(report.waiting)
        left = (
            f"; still being written: {waiting}, so load again later" if waiting else ""
        )
        raise NothingToDoError(
            "There is nothing new. Files loaded before: "
            f"{len(report.files) - waiting}{left}."
        )


def _other_files(report: IngestReport, dry_run: bool) -> str:
    others = [file.state for file in report.files if file.state != "refused"]
    new = others.count("loaded")
    if not new:
        return UNCHANGED
    loaded = "that would be loaded" if dry_run else "loaded"
    return f"Other files {loaded}: {new} of {len(others)}."
