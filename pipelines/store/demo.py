"""Statements for the demo fleet that a database holds, if any, and its simulated clock."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from pipelines.schema import (
    city_settings,
    demand_versions,
    demo_fleet,
    event_versions,
    files,
    models,
    overrides,
    run_lines,
    runs,
    signal_versions,
    van_decisions,
)

RECORDED_TIMES = (
    runs.c.started_at, runs.c.finished_at, run_lines.c.written_at, files.c.loaded_at,
    demand_versions.c.recorded_at, models.c.created_at, models.c.promoted_at,
    event_versions.c.known_at, event_versions.c.superseded_at,
    signal_versions.c.known_at, signal_versions.c.superseded_at,
)  # fmt: skip
"""Times that are taken from the database's clock."""
PLANNERS_TIMES = (
    overrides.c.made_at, city_settings.c.made_at, van_decisions.c.made_at,
)  # fmt: skip
"""The same, in tables that only their owner may correct."""
MAY_PLAN = """
select has_function_privilege(session_user, 'add_overrides(jsonb, text, text)', 'execute')
   and has_table_privilege(session_user, 'overrides', 'update')
"""


@dataclass(frozen=True)
class DemoFleet:
    """The options that a fleet was invented with."""

    seed: int
    n_depots: int
    n_days: int


def read_demo_fleet(connection: sa.Connection) -> DemoFleet | None:
    """The invented fleet of this database; None where it has none."""
    table = demo_fleet.c
    row = connection.execute(
        sa.select(table.seed, table.n_depots, table.n_days)
    ).one_or_none()
    return None if row is None else DemoFleet(*row)


def record_demo_fleet(connection: sa.Connection, fleet: DemoFleet) -> None:
    """Notes that the database holds an invented fleet."""
    connection.execute(demo_fleet.insert().values(**asdict(fleet)))


def move_times(connection: sa.Connection, since: datetime, by: timedelta) -> None:
    """Adds `by` to every recorded time that is not before `since`, by the database's clock.

    The login user's rights are used for what only planners write, where it has them.
    """
    columns: tuple[sa.Column[Any], ...] = RECORDED_TIMES
    if may_plan(connection):
        connection.execute(sa.text("set local role none"))
        columns += PLANNERS_TIMES
    for column in columns:
        moved = sa.update(column.table).where(column >= since)
        connection.execute(moved.values({column: column + by}))


def may_plan(connection: sa.Connection) -> bool:
    """Whether the user that logged in may write as planners do, and correct the times."""
    return bool(connection.scalar(sa.text(MAY_PLAN)))


def add_overrides(
    connection: sa.Connection,
    changes: Sequence[dict[str, Any]],
    reason: str,
    planner: str,
) -> None:
    """Appends overrides with the function of the migrations that the pages use; see `may_plan`."""
    connection.execute(sa.text("set local role none"))
    statement = sa.text("select add_overrides(cast(:changes as jsonb), :why, :planner)")
    parameters = {"changes": json.dumps(changes), "why": reason, "planner": planner}
    connection.execute(statement, parameters)


def hire_vans(
    connection: sa.Connection, city: str, day: date, vans: int, note: str, planner: str
) -> None:
    """Appends a decision on the vans of a day, as `add_overrides` does overrides."""
    connection.execute(sa.text("set local role none"))
    connection.execute(
        sa.text(
            "select decide_vans(:city, :day, 'hire', :vans, 0, :note, :planner, null)"
        ),
        {"city": city, "day": day, "vans": vans, "note": note, "planner": planner},
    )
