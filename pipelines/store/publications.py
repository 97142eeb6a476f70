"""Statements for published forecasts: `publications`, and its view `shown_forecast`."""

from dataclasses import dataclass
from datetime import date, datetime

import sqlalchemy as sa

from pipelines.schema import publications, shown_forecast

PUBLISH_LOCK = 0x5055_424C  # "PUBL"

# A model that forecast the whole fleet has totals; a hindcast of some depots has none.
PUBLISH_STORED = """
insert into publications (origin_on, model_version, is_live, published_at, run_id)
select origin_on, model_version, f.is_live and :live, :now, f.run_id
from forecasts f join forecast_totals t using (origin_on, model_version)
where origin_on = :origin and model_version = :version and t.city = ''
limit 1
returning publication_id
"""


@dataclass(frozen=True)
class Publication:
    """A published forecast: its origin and model."""

    origin_on: date
    model_version: str


def shown(connection: sa.Connection) -> Publication | None:
    """The forecast that the pages show."""
    return _first(connection, sa.select(shown_forecast))


def last_of_origin(connection: sa.Connection, origin: date) -> Publication | None:
    """The last published forecast of an origin."""
    of_origin = sa.select(publications).where(publications.c.origin_on == origin)
    newest_first = publications.c.publication_id.desc()
    return _first(connection, of_origin.order_by(newest_first).limit(1))


def publish(
    connection: sa.Connection,
    origin: date,
    model_version: str,
    *,
    live: bool,
    now: datetime,
    run_id: int,
) -> bool:
    """Publishes a forecast, unless a run that began later has published one.

    Called in the transaction that writes the forecast. `live` forecasts count in live accuracy.
    Returns whether the forecast was published.
    """
    lock(connection)
    newest = connection.scalar(sa.select(sa.func.max(publications.c.run_id)))
    if newest is not None and newest > run_id:
        return False
    connection.execute(
        sa.insert(publications).values(
            origin_on=origin, model_version=model_version, is_live=live,
            published_at=now, run_id=run_id,
        )
    )  # fmt: skip
    return True


def publish_stored(
    connection: sa.Connection,
    publication: Publication,
    *,
    live: bool,
    now: datetime,
) -> bool:
    """Publishes a stored forecast; returns False if it is not stored, or only for some depots.

    Called in a transaction that holds the `lock`. `live` is whether a forecast made now from this
    origin would be live.
    """
    parameters = {
        "origin": publication.origin_on, "version": publication.model_version,
        "live": live, "now": now,
    }  # fmt: skip
    return connection.scalar(sa.text(PUBLISH_STORED), parameters) is not None


def lock(connection: sa.Connection) -> None:
    """Keeps others from publishing until the transaction ends."""
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(PUBLISH_LOCK)))


def _first(
    connection: sa.Connection, statement: sa.Select[tuple[object, ...]]
) -> Publication | None:
    row = connection.execute(statement).first()
    return None if row is None else Publication(row.origin_on, row.model_version)
