"""`harbor slo`: the service levels, computed from the ledger."""

from typing import Annotated, Any

import typer

from pipelines.cli.console import say, show_json, show_table
from pipelines.cli.workplace import AsJson, workplace
from pipelines.database.engine import snapshot
from pipelines.monitoring import service_levels
from pipelines.monitoring.service_levels import Level, Levels

PROMISES = {
    "forecast_ready": "forecast ready in time",
    "dashboard_up": "dashboard answers",
    "dashboard_quick": f"dashboard within {service_levels.QUICK_S} s",
}


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("slo")(slo)


def slo(
    days: Annotated[
        int | None, typer.Option(help="Days to look back. [default: 30 and 90]", min=1)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Shows how well the service levels were kept, and how much error budget is left.

    Example: `harbor slo --days 30`
    """
    with workplace() as place, snapshot(place.engine) as connection:
        windows = service_levels.WINDOWS if days is None else (days,)
        found = [
            service_levels.compute(connection, place.settings, place.now, each)
            for each in windows
        ]
    if as_json:
        show_json([_told(levels) for levels in found])
        return
    rows = [_row(level) for levels in found for level in levels.all]
    columns = ("level", "days", "promised %", "kept %", "of", "missed", "budget left %")
    show_table("Service levels", columns, rows)
    for levels in found:
        _tell_more(levels)


def _row(level: Level) -> tuple[object, ...]:
    return (
        PROMISES[level.name],
        level.days,
        100 * level.wanted,
        _percent(level.share),
        level.of,
        level.of - level.kept,
        _percent(level.budget_left),
    )


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _tell_more(levels: Levels) -> None:
    missed = [str(night.origin_on) for night in levels.nights if not night.is_kept]
    if missed:
        say(f"Not in time over {levels.days} days, by origin: {', '.join(missed)}.")
    if levels.answers.p95_s is not None:
        told = f"{levels.answers.p95_s:.2f} s over {levels.days} days"
        say(f"p95 of the dashboard: {told}.")


def _told(levels: Levels) -> dict[str, Any]:
    return {
        "days": levels.days,
        "levels": {
            level.name: {
                "promised": level.wanted,
                "kept": level.share,
                "of": level.of,
                "missed": level.of - level.kept,
                "budget_left": level.budget_left,
            }
            for level in levels.all
        },
        "dashboard_p95_seconds": levels.answers.p95_s,
        "nights": [
            {
                "origin": night.origin_on,
                "ready_by": night.ready_by.isoformat(),
                "ready_at": night.ready_at and night.ready_at.isoformat(),
                "kept": night.is_kept,
            }
            for night in levels.nights
        ],
    }
