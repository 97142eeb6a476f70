"""Plans of backfills: what is to be done slot by slot, and how far it came."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import sqlalchemy as sa

from pipelines.schema import backfill_slots as slots
from pipelines.schema import backfills, forecasts
from pipelines.store.forecasts import FORECAST_COLUMNS

APPLY_LOCK = 0x4241_434B  # "BACK"

# Looks without touching: who finds a lock taken that we only tried would leave.
IS_LOCKED = """
select exists (
    select from pg_locks where locktype = 'advisory' and granted and objsubid = 1
      and classid = 0 and objid = :key
      and database = (select oid from pg_database where datname = current_database()))
"""


def is_locked(connection: sa.Connection, key: int) -> bool:
    """Whether any session holds an advisory lock, given by a key below 2**32."""
    return bool(connection.scalar(sa.text(IS_LOCKED), {"key": key}))


def add_plan(
    connection: sa.Connection,
    asked: Mapping[str, Any],
    ledger: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
) -> int:
    """Writes a plan and its slots, and returns the plan's id.

    Args:
      connection: Inside a transaction.
      asked: What somebody asked for.
      ledger: What the plan was made from, as `ledger_now` says it.
      rows: Its slots, by the columns of `backfill_slots`.
    """
    statement = sa.insert(backfills).values(asked=asked, ledger=ledger, state="planned")
    found = connection.execute(statement.returning(backfills.c.backfill_id))
    backfill_id = int(found.scalar_one())
    if rows:
        values = [{"backfill_id": backfill_id, **row} for row in rows]
        connection.execute(sa.insert(slots), values)
    return backfill_id


def drop_unbegun(connection: sa.Connection, backfill_id: int) -> None:
    """Takes a plan away of which nothing was begun; any other stays."""
    unbegun = sa.select(backfills.c.backfill_id).where(
        backfills.c.backfill_id == backfill_id, backfills.c.state == "planned"
    )
    connection.execute(sa.delete(slots).where(slots.c.backfill_id.in_(unbegun)))
    connection.execute(sa.delete(backfills).where(backfills.c.backfill_id.in_(unbegun)))


def plan(connection: sa.Connection, backfill_id: int) -> dict[str, Any] | None:
    """A plan without its slots."""
    statement = sa.select(backfills).where(backfills.c.backfill_id == backfill_id)
    found = connection.execute(statement).mappings().one_or_none()
    return None if found is None else dict(found)


def plans(connection: sa.Connection, limit: int) -> list[dict[str, Any]]:
    """The newest plans with how many of their slots are in which state, newest first."""
    newest = (
        sa.select(backfills)
        .order_by(backfills.c.backfill_id.desc())
        .limit(limit)
        .subquery()
    )

    def count(state: str) -> sa.ColumnElement[int]:
        return (
            sa.func.count()
            .filter(slots.c.state == state)
            .label(state.replace(" ", "_"))
        )

    states = [count(state) for state in ("waiting", "done", "failed", "left out")]
    statement = (
        sa.select(*newest.c, *states)
        .outerjoin(slots, slots.c.backfill_id == newest.c.backfill_id)
        .group_by(*newest.c)
        .order_by(newest.c.backfill_id.desc())
    )
    return [dict(row) for row in connection.execute(statement).mappings()]


def plan_slots(connection: sa.Connection, backfill_id: int) -> list[dict[str, Any]]:
    """Every slot of a plan, in order."""
    statement = (
        sa.select(slots)
        .where(slots.c.backfill_id == backfill_id)
        .order_by(slots.c.number)
    )
    return [dict(row) for row in connection.execute(statement).mappings()]


def set_state(connection: sa.Connection, backfill_id: int, state: str) -> None:
    """Writes how a plan stands; what was wanted of it has been done then."""
    statement = sa.update(backfills).where(backfills.c.backfill_id == backfill_id)
    connection.execute(statement.values(state=state, wanted=None))


def set_ledger(
    connection: sa.Connection, backfill_id: int, ledger: Mapping[str, Any]
) -> None:
    """Writes what the ledger looks like after the plan itself has moved it."""
    statement = sa.update(backfills).where(backfills.c.backfill_id == backfill_id)
    connection.execute(statement.values(ledger=ledger))


def want(connection: sa.Connection, backfill_id: int, wanted: str) -> None:
    """Leaves word for whoever applies the plan."""
    statement = sa.update(backfills).where(backfills.c.backfill_id == backfill_id)
    connection.execute(statement.values(wanted=wanted))


def wanted(connection: sa.Connection, backfill_id: int) -> str | None:
    """What somebody wants of whoever applies the plan."""
    return connection.scalar(
        sa.select(backfills.c.wanted).where(backfills.c.backfill_id == backfill_id)
    )


def end_slot(
    connection: sa.Connection,
    backfill_id: int,
    number: int,
    state: str,
    run_id: int,
    error: str | None = None,
    **found: Any,
) -> None:
    """Writes how a slot ended, and what was found on the way (model_version, rows)."""
    connection.execute(
        sa.update(slots)
        .where(slots.c.backfill_id == backfill_id, slots.c.number == number)
        .values(
            state=state,
            error=error,
            run_id=run_id,
            finished_at=sa.func.clock_timestamp(),
            **found,
        )
    )


def wait_again(connection: sa.Connection, backfill_id: int) -> int:
    """Puts failed slots back in the queue, and returns how many."""
    statement = (
        sa.update(slots)
        .where(slots.c.backfill_id == backfill_id, slots.c.state == "failed")
        .values(state="waiting", error=None)
    )
    return int(connection.execute(statement).rowcount)


def failed_before(
    connection: sa.Connection, first: date, last: date
) -> dict[date, str]:
    """Origins whose newest attempt to forecast failed, and why."""
    found = connection.execute(
        sa.text(
            "select origin_on, error from ("
            " select distinct on (origin_on) origin_on, state, error from backfill_slots"
            " where step = 'forecast' and state in ('done', 'failed')"
            " and origin_on between :first and :last"
            " order by origin_on, finished_at desc) newest where state = 'failed'"
        ),
        {"first": first, "last": last},
    )
    return {row.origin_on: str(row.error) for row in found}


def held_forecasts(
    connection: sa.Connection, first: date, last: date, depot_ids: Sequence[str] | None
) -> dict[tuple[date, str], sa.Row[Any]]:
    """What is there already, by origin and model: rows, newest_made_at, live."""
    statement = (
        sa.select(
            forecasts.c.origin_on,
            forecasts.c.model_version,
            sa.func.count().label("rows"),
            sa.func.max(forecasts.c.made_at).label("newest_made_at"),
            sa.func.bool_or(forecasts.c.is_live).label("live"),
        )
        .where(forecasts.c.origin_on.between(first, last))
        .group_by(forecasts.c.origin_on, forecasts.c.model_version)
    )
    if depot_ids is not None:
        statement = statement.where(forecasts.c.depot_id.in_(depot_ids))
    found = connection.execute(statement)
    return {(row.origin_on, row.model_version): row for row in found}


def replace_some_forecasts(
    connection: sa.Connection,
    origin: date,
    model_version: str,
    depot_ids: Sequence[str] | None,
    rows: bytes | memoryview,
) -> None:
    """Puts one origin's forecasts in the place of those before them.

    Args:
      connection: Inside a transaction.
      origin: Of every row.
      model_version: Of every row.
      depot_ids: Whose forecasts are replaced; all of them without.
      rows: CSV in the order of `FORECAST_COLUMNS`.
    """
    before = sa.delete(forecasts).where(
        forecasts.c.origin_on == origin, forecasts.c.model_version == model_version
    )
    if depot_ids is not None:
        before = before.where(forecasts.c.depot_id.in_(depot_ids))
    connection.execute(before)
    driver: Any = connection.connection.driver_connection
    names = ", ".join(FORECAST_COLUMNS)
    with (
        driver.cursor() as cursor,
        cursor.copy(f"copy forecasts ({names}) from stdin (format csv)") as copy,
    ):
        copy.write(rows)


def corrections(
    connection: sa.Connection, through: date
) -> list[tuple[datetime, date]]:
    """When later counts of days up to one became known, with the earliest such day."""
    found = connection.execute(
        sa.text(
            "select known_at, min(service_on) from demand_versions "
            "where version > 1 and service_on <= :through group by known_at "
            "order by known_at"
        ),
        {"through": through},
    )
    return [(known_at, earliest_on) for known_at, earliest_on in found]


def announced(connection: sa.Connection) -> frozenset[date]:
    """Days on which an event was announced."""
    found = connection.scalars(
        sa.text("select distinct known_from from events where known_from is not null")
    )
    return frozenset(found)


def first_observed(connection: sa.Connection) -> date | None:
    """The earliest day of which any depot's demand is known."""
    return connection.scalar(
        sa.text(
            "select min(service_on) from demand_versions "
            "where superseded_at is null and orders is not null"
        )
    )


def chosen_depots(
    connection: sa.Connection, depots: Iterable[str], cities: Iterable[str]
) -> list[str]:
    """Depots named, or lying in a city named, in the order of their ids."""
    return list(
        connection.scalars(
            sa.text(
                "select depot_id from depots "
                "where depot_id = any(:depots) or city = any(:cities) order by depot_id"
            ),
            {"depots": list(depots), "cities": list(cities)},
        )
    )


def count_depots(connection: sa.Connection) -> int:
    """How many depots there are."""
    return int(connection.scalar(sa.text("select count(*) from depots")) or 0)


def seconds_a_row(connection: sa.Connection) -> float | None:
    """What a forecast row of a hindcast took lately; None where none was made."""
    return connection.scalar(
        sa.text(
            "select sum(seconds) / nullif(sum(made), 0) from ("
            " select extract(epoch from finished_at - started_at)::float8 as seconds,"
            " (counts->>'rows')::float8 as made from runs"
            " where step = 'hindcast' and state = 'done' and counts ? 'rows'"
            " order by run_id desc limit 20) lately"
        )
    )


def seconds_a_run(connection: sa.Connection, step: str) -> float | None:
    """What a run of a step took lately; None where none is done."""
    return connection.scalar(
        sa.text(
            "select avg(seconds) from ("
            " select extract(epoch from finished_at - started_at)::float8 as seconds"
            " from runs where step = :step and state = 'done'"
            " order by run_id desc limit 5) lately"
        ),
        {"step": step},
    )
