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
"""Columns of times that are taken from the database's clock."""
PLANNERS_TIMES = (
    overrides.c.made_at, city_settings.c.made_at, van_decisions.c.made_at,
)  # fmt: skip
"""The same in the planners' tables, which only their owner may update."""
MAY_PLAN = """
select has_function_privilege(session_user, 'add_overrides(jsonb, text, text)', 'execute')
   and has_table_privilege(session_user, 'overrides', 'update')
"""


@dataclass(frozen=True)
class DemoFleet:
    """The options with which a demo fleet was generated."""

    seed: int
    n_depots: int
    n_days: int


def read_demo_fleet(connection: sa.Connection) -> DemoFleet | None:
    """The demo fleet of this database; None if it has none."""
    table = demo_fleet.c
    row = connection.execute(
        sa.select(table.seed, table.n_depots, table.n_days)
    ).one_or_none()
    return None if row is None else DemoFleet(*row)


def record_demo_fleet(connection: sa.Connection, fleet: DemoFleet) -> None:
    """Records that the database holds a demo fleet."""
    connection.execute(demo_fleet.insert().values(**asdict(fleet)))


def move_times(connection: sa.Connection, since: datetime, by: timedelta) -> None:
    """Adds `by` to every recorded time from `since` on; `since` is by the database's clock.

    Tables that only planners write are changed too if the login user may update them.
    """
    columns: tuple[sa.Column[Any], ...] = RECORDED_TIMES
    if may_plan(connection):
        connection.execute(sa.text("set local role none"))
        columns += PLANNERS_TIMES
    for column in columns:
        moved = sa.update(column.table).where(column >= since)
        connection.execute(moved.values({column: column + by}))


def may_plan(connection: sa.Connection) -> bool:
    """Whether the login user may add overrides as planners do, and update their times."""
    return bool(connection.scalar(sa.text(MAY_PLAN)))


def add_overrides(
    connection: sa.Connection,
    changes: Sequence[dict[str, Any]],
    reason: str,
    planner: str,
) -> None:
    """Appends overrides with the database function that the pages use; requires `may_plan`."""
    connection.execute(sa.text("set local role none"))
    statement = sa.text("select add_overrides(cast(:changes as jsonb), :why, :planner)")
    parameters = {"changes": json.dumps(changes), "why": reason, "planner": planner}
    connection.execute(statement, parameters)


def hire_vans(
    connection: sa.Connection, city: str, day: date, vans: int, note: str, planner: str
) -> None:
    """Appends a decision to hire vans for a city and day; requires `may_plan`."""
    connection.execute(sa.text("set local role none"))
    connection.execute(
        sa.text(
            "select decide_vans(:city, :day, 'hire', :vans, 0, :note, :planner, null)"
        ),
        {"city": city, "day": day, "vans": vans, "note": note, "planner": planner},
    )
