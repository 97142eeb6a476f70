"""Depots."""

import sqlalchemy as sa

from pipelines.schema import depots


def depot_ids(connection: sa.Connection) -> set[str]:
    """Every depot's id."""
    return set(connection.scalars(sa.select(depots.c.depot_id)))
