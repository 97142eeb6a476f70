"""What a command works with: settings, a migrated database, and the time."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Annotated

import sqlalchemy as sa
import typer

from pipelines.database import migrate, roles
from pipelines.database.engine import open_engine
from pipelines.demand import counting
from pipelines.settings import Settings

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Port = Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)]


@dataclass(frozen=True)
class Workplace:
    """Opened once per command and handed down."""

    settings: Settings
    engine: sa.Engine

    @property
    def now(self) -> datetime:
        """The time, with a zone."""
        return datetime.now(UTC)


@contextmanager
def workplace(patience_s: float = 0) -> Iterator[Workplace]:
    """Opens the database; the embedded one is brought up to date by itself.

    Args:
      patience_s: How long a database that does not answer is waited for.

    Raises:
      DatabaseError: it does not answer, or a database of the user's own needs
        `harbor db upgrade`.
    """
    settings = Settings.load()
    with open_engine(settings, patience_s) as engine:
        make_inbox(settings)
        if settings.database_url is None:
            upgrade_embedded(engine)
        migrate.require_current(engine)
        roles.set_role_on_connect(engine)
        yield Workplace(settings, engine)


def make_inbox(settings: Settings) -> None:
    """Makes the folder that files are dropped into, where this user may.

    Who only reads may not, and needs none.
    """
    with suppress(OSError):
        settings.inbox.mkdir(parents=True, exist_ok=True)


def past_day(place: Workplace, text: str | None, option: str) -> date | None:
    """A day given on the command line that must not lie ahead.

    Raises:
      BadParameter: it is no ISO 8601 date.
      BadInputError: it is not over at any depot.
    """
    day = as_date(text, option)
    if day is not None:
        counting.require_complete_day(
            place.engine, day, place.now, place.settings.timezone
        )
    return day


def upgrade_embedded(engine: sa.Engine) -> None:
    """Runs the migrations of a database that is behind, never of one that is ahead.

    Its roles are made, too; they are the whole cluster's, so a new one has none.
    """
    status = migrate.status(engine)
    if status.is_behind:
        migrate.upgrade(engine)
        status = migrate.status(engine)
    if status.is_current and not roles.are_complete(roles.role_grants(engine)):
        roles.ensure(engine)
        roles.enable_trust_login(engine)


def as_date(text: str | None, option: str) -> date | None:
    """A day given on the command line.

    Raises:
      BadParameter: it is no ISO 8601 date.
    """
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{option} is {text!r}, but must be a day such as 2026-03-31."
        ) from None
