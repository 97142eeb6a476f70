"""Saves one change of one depot's day, as the form does."""

from dashboard import queries
from dashboard.planning import edits, overrides
from dashboard.planning.overrides import Batch, Change


def cell(depot, day):
    """The depot's day as a planner sees it now."""
    week = queries.fleet_week(queries.freshness())
    rows = week[(week["depot_id"] == depot) & (week["target_on"].dt.date == day)]
    [found] = edits.cells(rows)
    return found


def batch(orders, seen, by="Anna", reason="A strike"):
    return Batch((Change(seen, orders),), reason, by)


def change(orders, depot="LON-01", day=None, by="Anna", reason="A strike"):
    """Saves a number of orders, or None: back to the model."""
    overrides.add(batch(orders, cell(depot, day), by, reason))


def undo(by="Anna", city="London"):
    """Takes back what a planner changed last, as the button does."""
    newest = queries.newest_change(by, city, queries.freshness())
    overrides.undo(newest, by)
