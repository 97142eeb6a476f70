"""Saves one change of one depot's day, as the form does."""

from dashboard import queries
from dashboard.planning import edits, overrides, undo
from dashboard.planning.overrides import LOCK, SET, Batch, Change


def cell(depot, day):
    """The depot's day as a planner sees it now."""
    week = queries.fleet_week(queries.freshness())
    rows = week[(week["depot_id"] == depot) & (week["target_on"].dt.date == day)]
    [found] = edits.cells(rows)
    return found


def batch(action, orders, seen, by="Anna", reason="A strike"):
    numbered = orders if action in (SET, LOCK) else None
    return Batch((Change(seen, action, numbered),), reason, by)


def change(
    action=SET, orders=None, depot="LON-01", day=None, by="Anna", reason="A strike"
):
    """Saves the change, and returns the batch that undoes it."""
    made = batch(action, orders, cell(depot, day), by, reason)
    return undo.inverse(made, overrides.add(made))
