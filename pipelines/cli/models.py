"""`harbor models`: lists, promotes and rolls back models."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines.cli.command_group import CommandGroup
from pipelines.cli.console import echo, show_json, show_result, show_table
from pipelines.cli.context import (
    AsJson,
    FirstDay,
    LastDay,
    day_range,
    open_context,
    segment_tables,
)
from pipelines.cli.train import coverage_percent, show_scores

if TYPE_CHECKING:
    from pipelines.store.models import Model
    from pipelines.training.manual_promotion import NewChampion

# Copy of the keys of `accuracy.SEGMENTS`: a help text need not wait for SQLAlchemy's import.
SCORE_SEGMENTS = ("depot", "city", "horizon", "model", "day")
LIVE_COLUMNS = {
    "mape": "MAPE %",
    "naive_mape": "naive %",
    "median_mape": "median4 %",
    "wape": "WAPE %",
    "bias": "bias %",
    "coverage80": "80 % band",
    "days": "days",
}
NONE_YET = (
    "No live forecast has been scored yet. Each night scores the forecasts whose actuals have "
    "come in."
)
NONE_OF_PERIOD = "No live forecast of these days has been scored."
app = CommandGroup("models", "Which model is served, and why.")


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """Lists every model, newest first.

    Example: `harbor models list`
    """
    from pipelines.store import models

    with open_context() as context, context.engine.connect() as connection:
        all_models = models.all_models(connection)
    if as_json:
        show_json(all_models)
        return
    columns = ("version", "role", "trained through", "delivers", "reason")
    rows = []
    for model in all_models:
        pruned = _pruned(model)
        reasons = (model["decision_reason"], pruned and f"Artefact {pruned}.")
        reason = " ".join(filter(None, reasons))
        through = str(model["trained_through"])
        rows.append(
            (model["version"], model["role"], through, _delivers(model), reason)
        )
    show_table("Models", columns, rows)


def _delivers(model: Model) -> str:
    """Whether a model delivers the network's forecast or the baseline."""
    from forecaster.inference.network_share import describe_share

    return describe_share(model["scores"].get("network_share"))


def _pruned(model: Model) -> str | None:
    if model["pruned_at"] is None:
        return None
    return f"pruned on {model['pruned_at'].astimezone(UTC):%Y-%m-%d}"


@app.command("show")
def show_model(version: str, as_json: AsJson = False) -> None:
    """Shows one model, its scores, and the decision on it.

    Example: `harbor models show 20260331-0a1b2c3d`
    """
    from pipelines.training import manual_promotion

    with open_context() as context:
        model = manual_promotion.read(context.engine, version)
    if as_json:
        show_json(model)
        return
    for name in ("version", "role", "trained_through", "created_at", "seed"):
        echo(f"{name.replace('_', ' ')}: {model[name]}")
    echo(f"delivers: {_delivers(model)}")
    echo(f"artefact: {_pruned(model) or model['filename']}")
    echo(f"reason: {model['decision_reason'] or '–'}")
    if result := model["scores"].get("canary"):
        outcome = "passed" if result["passed"] else "failed"
        echo(f"canary: {outcome}, from {result['origin']}")
        for check in result["checks"]:
            mark = "ok" if check["passed"] else "WRONG"
            echo(f"  {mark:5} {check['name']}: {check['says']}")
    if model["scores"].get("models"):
        show_scores(model["scores"], "Scores on the holdout days")


@app.command("live")
def live(
    by: Annotated[
        str,
        typer.Option(
            help=f"{', '.join(SCORE_SEGMENTS)}, or several of them together, separated by "
            "commas."
        ),
    ] = "model",
    days: Annotated[
        int, typer.Option(help="Number of newest scored days.", min=1)
    ] = 28,
    first: FirstDay = None,
    last: LastDay = None,
    as_json: AsJson = False,
) -> None:
    """Shows how accurate the live forecasts have been, compared with both naive forecasts.

    Hindcasts do not count. With --from or --to, every scored day of that period counts.

    Example: `harbor models live --by city,horizon --from 2026-03-01 --to 2026-03-31`
    """
    from pipelines.database.engine import snapshot
    from pipelines.forecasting import live_accuracy
    from pipelines.store.accuracy import Period

    (segments,) = segment_tables([by], SCORE_SEGMENTS)
    first_on, last_on = day_range(first, last)
    is_period = first_on is not None or last_on is not None
    period = Period(None if is_period else days, first_on, last_on)
    with open_context() as context, snapshot(context.engine) as connection:
        scores, overall, by_day = (
            live_accuracy.scores_by(connection, each, period)
            for each in (segments, (), ("day",))
        )
    n_scored = len(by_day)
    scored_days = [row["segment"] for row in by_day] or [None]
    if as_json:
        show_json(
            {
                "by": by,
                "days": period.days,
                "from": scored_days[0],
                "to": scored_days[-1],
                "scored_days": n_scored,
                "overall": overall[0] if overall else None,
                "scores": scores,
            }
        )
        return
    if not scores:
        echo(NONE_OF_PERIOD if is_period else NONE_YET)
        return
    rows = [_cells(row, segments) for row in scores]
    rows.append(_cells(overall[0] | {"segment": "all"}, segments))
    title = (
        f"Live forecasts of {n_scored} scored {'day' if n_scored == 1 else 'days'}, "
        f"{scored_days[0]} to {scored_days[-1]}"
    )
    show_table(title, (*segments, *LIVE_COLUMNS.values()), rows)


def _cells(row: dict[str, Any], segments: Sequence[str]) -> tuple[object, ...]:
    """The cells of a row of `scores_by`: a column for each segment, then the scores."""
    names = row["segment"] if isinstance(row["segment"], list) else [row["segment"]]
    padding = [""] * (len(segments) - len(names))
    shown = row | {"coverage80": coverage_percent(row["coverage80"])}
    return (*map(str, names), *padding, *(shown[name] for name in LIVE_COLUMNS))


@app.command("promote")
def promote(
    version: str,
    reason: Annotated[
        str, typer.Option(help="Reason, stored with the model.")
    ] = "Promoted by hand.",
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Promote it even if its canary fails.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Makes a model the champion, if its artefact is intact.

    A model that was never champion first makes a trial forecast, its canary.

    Example: `harbor models promote 20260331-0a1b2c3d --reason "New fleet"`
    """
    from pipelines.training import manual_promotion

    with open_context() as context:
        champion = manual_promotion.promote(
            context.engine,
            context.settings,
            version,
            reason,
            context.now,
            unchecked=unchecked,
        )
    _show_champion(champion, reason, as_json)


@app.command("rollback")
def rollback(
    reason: Annotated[
        str, typer.Option(help="Reason, stored with the model.")
    ] = "Rolled back by hand.",
    as_json: AsJson = False,
) -> None:
    """Makes the previous champion the champion again.

    Example: `harbor models rollback --reason "Too high in Ghent since Monday"`
    """
    from pipelines.training import manual_promotion

    with open_context() as context:
        champion = manual_promotion.roll_back(
            context.engine, context.settings, reason, context.now
        )
    _show_champion(champion, reason, as_json)


def _show_champion(champion: NewChampion, reason: str, as_json: bool) -> None:
    answer = {
        "champion": champion.version, "reason": reason, "shown_from": champion.shown_from,
    }  # fmt: skip
    sentence = f"{champion.version} is the champion. {champion.sentence()}"
    show_result(answer, sentence, as_json)
