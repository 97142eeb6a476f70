"""Statements for the demo fleet that a database holds, if any."""

from dataclasses import asdict, dataclass

import sqlalchemy as sa

from pipelines.schema import demo_fleet


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
