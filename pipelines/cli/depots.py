"""`harbor depots`: lists the depots, and flags incomplete ones."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.command_group import CommandGroup
from pipelines.cli.console import echo, show_json, show_table
from pipelines.cli.context import AsJson, open_context

if TYPE_CHECKING:
    from pipelines.store.depots import KnownDepot

app = CommandGroup("depots", "The depots of the fleet.")
COLUMNS = ("depot", "name", "city", "timezone", "country", "vans", "last day", "flags")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@app.command("list")
def list_depots(
    incomplete: Annotated[
        bool,
        typer.Option("--incomplete", help="Only depots that no depots file describes."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Lists every depot with the newest day of its known orders.

    Flags: incomplete (first seen in orders, and described by no depots file), not started (no
    orders yet and no opening day, so that forecasts leave it out), closed (for good) or not
    open yet, and the weekdays on which it is closed.

    Example: `harbor depots list --incomplete`
    """
    from pipelines.store.depots import known_depots

    with open_context() as context, context.engine.connect() as connection:
        today = context.now.astimezone(context.settings.zone).date()
        depots = known_depots(connection)
    if incomplete:
        depots = [depot for depot in depots if not depot.is_complete]
    if as_json:
        show_json([asdict(depot) | {"flags": flags(depot, today)} for depot in depots])
    elif depots:
        show_table("Depots", COLUMNS, [_row(depot, today) for depot in depots])
    else:
        echo("No depot is incomplete." if incomplete else "There are no depots yet.")


def flags(depot: KnownDepot, today: date) -> list[str]:
    """Flags of a depot: incomplete, not started, closed, not yet open, closed weekdays."""
    names = []
    if not depot.is_complete:
        names.append("incomplete")
    if not depot.has_started:
        names.append("not started")
    if depot.closed_on is not None and depot.closed_on <= today:
        names.append(f"closed since {depot.closed_on}")
    if depot.opened_on is not None and depot.opened_on > today:
        names.append(f"opens {depot.opened_on}")
    if depot.closed_weekdays:
        days = ", ".join(WEEKDAYS[day - 1] for day in depot.closed_weekdays)
        names.append(f"closed {days}")
    return names


def _row(depot: KnownDepot, today: date) -> tuple[object, ...]:
    return (
        depot.depot_id,
        depot.name,
        depot.city,
        depot.timezone,
        depot.country,
        depot.vans,
        depot.last_on and str(depot.last_on),
        ", ".join(flags(depot, today)),
    )
