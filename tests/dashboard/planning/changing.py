"""Saves changes of depots' days, as the form does."""

from dataclasses import replace

import pandas as pd

from dashboard import queries
from dashboard.planning import city_settings, entered_changes, overrides
from dashboard.planning.overrides import Change


def cell(depot, day):
    """The depot's day as a planner sees it now."""
    week = queries.fleet_week(queries.freshness())
    rows = week[(week["depot_id"] == depot) & (week["target_on"].dt.date == day)]
    [found] = entered_changes.cells(rows)
    return found


def save(orders, *cells, by="Anna", reason="A strike"):
    """Saves a number of orders for each cell as the planner saw it."""
    overrides.add([Change(each, orders) for each in cells], reason, by)


def change(orders, depot="LON-01", day=None, by="Anna", reason="A strike"):
    """Saves a number of orders, or None: back to the model."""
    save(orders, cell(depot, day), by=by, reason=reason)


def history(what="orders", city="London"):
    """What was saved of orders, vans or settings, newest first, and whether it was undone."""
    rows = queries.changes(city, queries.freshness()).to_dict("records")
    saved = [
        {**row["saved"], "is_undone": row["is_undone"]}
        for row in rows
        if row["what"] == what
    ]
    return pd.DataFrame(saved)


def undo(by="Anna", city="London"):
    """Takes back what a planner changed last, as the button does."""
    newest = queries.newest_change(by, city, queries.freshness())
    overrides.undo(newest, by)


def undo_one(what, change_id, by):
    """Takes back one change, which may be a colleague's."""
    overrides.undo(pd.DataFrame({"what": [what], "change_id": [change_id]}), by)


def settings_of(city="London"):
    """The settings of a city as they are now."""
    return city_settings.by_city(queries.freshness())[city]


def set_city(city="London", by="Mara", **settings):
    """Saves settings of a city."""
    city_settings.save(replace(settings_of(city), **settings), by)
