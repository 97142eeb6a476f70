"""`harbor explain`: shows what a depot's forecast is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from forecaster.errors import BadInputError
from pipelines.cli.console import echo, show_json, show_table
from pipelines.cli.context import AsJson, as_date, open_context

if TYPE_CHECKING:
    from forecaster.inference.explain import Explanation, Part
    from pipelines.forecasting.explanation import ExplainedForecast


def explain(
    depot: Annotated[str, typer.Argument(metavar="DEPOT", help="Id of the depot.")],
    day: Annotated[
        str | None,
        typer.Argument(metavar="DAY", help="A day ahead. [default: all of them]"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Shows what the forecast of a depot is made of; the parts add up to the number shown.

    Level: a usual day of a week without effects. Network: the part used of its correction. Effects
    multiply, so each percentage is of the sum of the parts above it.

    Example: `harbor explain GNT 2026-07-26`
    """
    from pipelines.forecasting.explanation import explain_shown

    wanted = None if day is None else as_date(day, "DAY")
    with open_context() as context:
        shown = explain_shown(context.engine, context.settings, depot)
    days = [each for each in shown.days if wanted in (None, each.target_on)]
    if not days:
        raise BadInputError(
            f"DAY is {wanted}, but the forecast shown covers {shown.days[0].target_on} to "
            f"{shown.days[-1].target_on}. Choose one of these days."
        )
    if as_json:
        show_json(_as_json(shown, days))
        return
    echo(f"Forecast from {shown.origin_on} with model {shown.model_version}.")
    if len(days) == 1:
        _show_day(depot, days[0])
    else:
        _show_days(depot, days)


def _show_day(depot: str, day: Explanation) -> None:
    rows = [(part.name, _signed(part), _percent(part)) for part in day.parts]
    rows.append(("planned", f"{day.point:,.1f}", ""))
    columns = ("part", "orders", "percent")
    show_table(f"{depot}, {day.target_on:%a %d %b}", columns, rows)


def _show_days(depot: str, days: list[Explanation]) -> None:
    cells = [{part.name: _signed(part) for part in day.parts} for day in days]
    names = dict.fromkeys(name for each in cells for name in each)
    rows = [(name, *(each.get(name, "") for each in cells)) for name in names]
    rows.append(("planned", *(f"{day.point:,.1f}" for day in days)))
    columns = ("part", *(f"{day.target_on:%a %d %b}" for day in days))
    show_table(f"{depot}, orders", columns, rows)


def _signed(part: Part) -> str:
    return f"{part.orders:,.1f}" if part.relative is None else f"{part.orders:+,.1f}"


def _percent(part: Part) -> str:
    return "" if part.relative is None else f"{100 * part.relative:+.1f}"


def _as_json(shown: ExplainedForecast, days: list[Explanation]) -> dict[str, object]:
    return {
        "depot_id": shown.depot_id,
        "origin_on": shown.origin_on,
        "model_version": shown.model_version,
        "days": [
            {
                "target_on": day.target_on,
                "basis": day.basis,
                "planned": day.point,
                "parts": [_part_as_json(part) for part in day.parts],
            }
            for day in days
        ],
    }


def _part_as_json(part: Part) -> dict[str, object]:
    percent = None if part.relative is None else 100 * part.relative
    return {"part": part.name, "orders": part.orders, "percent": percent}
