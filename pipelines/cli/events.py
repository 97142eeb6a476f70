"""`harbor events`: lists and withdraws events."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.command_group import CommandGroup
from pipelines.cli.console import show_list, show_result
from pipelines.cli.context import AsJson, as_date, open_context

if TYPE_CHECKING:
    from pipelines.store.events import Event

app = CommandGroup("events", "Events known in advance: list them, withdraw one.")


@app.command("list")
def list_events(
    kind: Annotated[
        str | None, typer.Option(help="Only events of this kind, for example closed.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Only events that end on this day or later."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show withdrawn events, too.")
    ] = False,
    limit: Annotated[int, typer.Option(help="Events to show.", min=1)] = 50,
    as_json: AsJson = False,
) -> None:
    """Lists the current events, with the ids by which files and `withdraw` refer to them.

    Example: `harbor events list --kind closed --since 2026-08-01`
    """
    from pipelines.store import events

    first = None if since is None else as_date(since, "--since")
    with open_context() as context, context.engine.connect() as connection:
        newest = events.newest(connection, kind, first, everything)
    show_list(
        "Events", newest[:limit], _row, as_json=as_json, empty="No events match.",
        n_all=len(newest), noun="events",
    )  # fmt: skip


@app.command("withdraw")
def withdraw_event(
    event_id: Annotated[str, typer.Argument(metavar="ID")],
    reason: Annotated[str, typer.Option(help="Reason, stored with the event.")],
    as_json: AsJson = False,
) -> None:
    """Withdraws an event: later forecasts do not see it.

    Earlier forecasts are not changed. To restore the event, load a file that has it
    with `withdrawn` set to no.

    Example: `harbor events withdraw closed/2026-08-01/depot/A --reason "works moved"`
    """
    from pipelines.ingest.load.withdrawal import withdraw_event
    from pipelines.settings.days import first_origin

    with open_context() as context:
        withdrawn = withdraw_event(context.engine, event_id, reason)
        origin = first_origin(withdrawn.known_at, context.settings.zone)
    sentence = (
        f"Withdrew {withdrawn.event_id}: {withdrawn.kind}, {withdrawn.starts_on} to "
        f"{withdrawn.ends_on}, {_where(withdrawn)}. That counts in live forecasts from now "
        f"on, and in hindcasts from origin {origin} on. 'harbor forecast' forecasts its days again."
    )
    show_result(asdict(withdrawn), sentence, as_json)


def _row(event: Event) -> dict[str, object]:
    return {
        "id": event.event_id,
        "kind": event.kind,
        "from": str(event.starts_on),
        "to": str(event.ends_on),
        "where": _where(event),
        "value": event.value,
        "known from": event.known_from and str(event.known_from),
        "state": _state(event),
    }


def _where(event: Event) -> str:
    if event.depot_id is not None:
        return f"depot {event.depot_id}"
    return "everywhere" if event.city is None else f"city {event.city}"


def _state(event: Event) -> str:
    if event.withdrawn:
        return "withdrawn" + (f": {event.reason}" if event.reason else "")
    return "corrected" if event.version > 1 else "as announced"
