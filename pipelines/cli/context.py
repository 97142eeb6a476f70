"""The context of a command: its settings and its database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import sqlalchemy as sa

    from pipelines.settings import Settings


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
FilePath = Annotated[
    str | None,
    typer.Option("--file", help="Only files whose path contains this."),
]
FirstDay = Annotated[
    str | None, typer.Option("--from", metavar="DAY", help="Only from this day on.")
]
LastDay = Annotated[
    str | None, typer.Option("--to", metavar="DAY", help="Only up to this day.")
]
Origin = Annotated[
    str | None,
    typer.Option(
        help="Forecast origin: last day of actuals used. [default: the last day of data]"
    ),
]
Port = Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)]


@dataclass(frozen=True)
class CommandContext:
    """Settings and database of a command."""

    settings: Settings
    engine: sa.Engine

    @property
    def now(self) -> datetime:
        """The current time, in UTC."""
        return datetime.now(UTC)


@contextmanager
def open_database(
    timeout_s: float = 0, settings: Settings | None = None
) -> Iterator[CommandContext]:
    """Opens the database without checking its schema; loads the settings if none are given.

    Raises:
      DatabaseError: the database does not answer within `timeout_s` seconds.
    """
    from pipelines.database.engine import open_engine
    from pipelines.settings import Settings

    settings = settings or Settings.load()
    with open_engine(settings, timeout_s) as engine:
        yield CommandContext(settings, engine)


@contextmanager
def open_context(
    timeout_s: float = 0, settings: Settings | None = None
) -> Iterator[CommandContext]:
    """Opens the database, and upgrades it if it is the embedded one.

    Raises:
      DatabaseError: the database does not answer within `timeout_s` seconds, or its schema is
        not this release's.
    """
    from pipelines.database import roles, schema_version

    with open_database(timeout_s, settings) as context:
        make_inbox(context.settings)
        if context.settings.database_url is None:
            upgrade_embedded(context.engine)
        schema_version.require_current(context.engine)
        roles.set_role_on_connect(context.engine)
        yield context


def make_inbox(settings: Settings) -> None:
    """Creates the inbox if this user may; a read-only user does not need it."""
    with suppress(OSError):
        settings.inbox.mkdir(parents=True, exist_ok=True)


def past_day(context: CommandContext, text: str | None, option: str) -> date | None:
    """Parses a day given on the command line, which must be over.

    Raises:
      BadParameter: it is not an ISO 8601 date.
      BadInputError: it is not over at any depot.
    """
    from pipelines.demand import counting

    if text is None:
        return None
    day = as_date(text, option)
    counting.require_complete_day(
        context.engine, day, context.now, context.settings.timezone
    )
    return day


def upgrade_embedded(engine: sa.Engine) -> None:
    """Migrates a database that is behind, and creates missing roles."""
    from pipelines.database import roles, schema_version

    status = schema_version.status(engine)
    if status.is_behind:
        from pipelines.database import migrate

        migrate.upgrade(engine)
        status = schema_version.status(engine)
    if status.is_current and not roles.are_complete(roles.role_grants(engine)):
        roles.ensure(engine)
        roles.enable_trust_login(engine)


def as_date(text: str, option: str) -> date:
    """Parses a day given on the command line.

    Raises:
      BadParameter: it is not an ISO 8601 date.
    """
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{option} is {text!r}, but must be a day such as 2026-03-31."
        ) from None


def require_folder(file: Path, name: str) -> None:
    """Checks that the folder of an output file exists.

    Raises:
      BadParameter: the folder is missing; the message names the option or argument `name`.
    """
    if not file.absolute().parent.is_dir():
        raise typer.BadParameter(
            f"{name} is {file}, but there is no folder {file.parent}. Create it."
        )


def day_range(first: str | None, last: str | None) -> tuple[date | None, date | None]:
    """Parses the options --from and --to, either of which may be missing.

    Raises:
      BadParameter: one is not an ISO 8601 date, or they are the wrong way round.
    """
    first_on = None if first is None else as_date(first, "--from")
    last_on = None if last is None else as_date(last, "--to")
    if first_on is not None and last_on is not None and first_on > last_on:
        raise typer.BadParameter(
            f"--from is {first_on}, which is after --to, {last_on}. Swap them."
        )
    return first_on, last_on


def segment_tables(
    options: Sequence[str], allowed: Sequence[str]
) -> list[tuple[str, ...]]:
    """Parses the options --by; each lists the segments of one table.

    Raises:
      BadParameter: a segment is unknown or repeated, or an option is empty.
    """
    tables = []
    for option in options:
        segments = tuple(name.strip() for name in option.split(",") if name.strip())
        unknown = [name for name in segments if name not in allowed]
        if unknown or not segments or len({*segments}) < len(segments):
            raise typer.BadParameter(
                f"--by is {option!r}, but must be one of {', '.join(allowed)}, or several of "
                "them separated by commas, each once."
            )
        tables.append(segments)
    return tables
