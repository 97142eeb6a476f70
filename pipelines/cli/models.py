"""`harbor models`: which model is shown, and why."""

from datetime import UTC
from typing import Annotated, Any

import typer

from forecaster.errors import BadInputError, NoModelError, NothingToDoError
from forecaster.inference import postprocessing
from pipelines.cli.console import say, show_json, show_table
from pipelines.cli.train import show_scores
from pipelines.cli.workplace import AsJson, Workplace, workplace
from pipelines.forecasting import forecast, live_accuracy
from pipelines.store import accuracy, models
from pipelines.training import canary

app = typer.Typer(
    name="models", help="Which model is shown, and why.", no_args_is_help=True
)


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """Lists every model, newest first.

    Example: `harbor models list`
    """
    with workplace() as place, place.engine.connect() as connection:
        found = models.all_models(connection)
    if as_json:
        show_json(found)
        return
    columns = ("version", "role", "trained through", "delivers", "reason")
    rows = [
        (
            row["version"],
            row["role"],
            str(row["trained_through"]),
            _delivers(row),
            _why(row),
        )
        for row in found
    ]
    show_table("Models", columns, rows)


def _delivers(found: dict[str, Any]) -> str:
    """Whether its forecast is the network's or the baseline."""
    return postprocessing.describe_share(found["scores"].get("network_share"))


def _why(found: dict[str, Any]) -> str:
    """The reason of its verdict, and whether it can forecast no more."""
    pruned = _pruned(found)
    return " ".join(
        filter(None, (found["decision_reason"], pruned and f"Artefact {pruned}."))
    )


def _pruned(found: dict[str, Any]) -> str | None:
    if found["pruned_at"] is None:
        return None
    return f"pruned on {found['pruned_at'].astimezone(UTC):%Y-%m-%d}"


@app.command("show")
def show_model(version: str, as_json: AsJson = False) -> None:
    """Shows one model, its scores, and the decision on it.

    Example: `harbor models show 20260331-0a1b2c3d`
    """
    with workplace() as place, place.engine.connect() as connection:
        found = _require(models.model(connection, version), version)
    if as_json:
        show_json(found)
        return
    for name in ("version", "role", "trained_through", "created_at", "seed"):
        say(f"{name.replace('_', ' ')}: {found[name]}")
    say(f"delivers: {_delivers(found)}")
    say(f"artefact: {_pruned(found) or found['filename']}")
    say(f"reason: {found['decision_reason'] or '–'}")
    _show_canary(found["scores"].get("canary"))
    if found["scores"].get("models"):
        show_scores(found["scores"], "Scores on the holdout days")


def _show_canary(canary: dict[str, Any] | None) -> None:
    """What was seen when it first forecast, before it was shown."""
    if canary is None:
        return
    say(
        f"canary: {'passed' if canary['passed'] else 'failed'}, from {canary['origin']}"
    )
    for check in canary["checks"]:
        mark = "ok" if check["passed"] else "WRONG"
        say(f"  {mark:5} {check['name']}: {check['says']}")


@app.command("live")
def live(
    by: Annotated[
        str, typer.Option(help=f"One of {', '.join(accuracy.PARTS)}.")
    ] = "model",
    days: Annotated[
        int, typer.Option(help="Number of newest scored days.", min=1)
    ] = 28,
    as_json: AsJson = False,
) -> None:
    """Shows how accurate the live forecasts have been, beside both baselines.

    Hindcasts do not count. A depot on which the seasonal naive was better is marked, and
    gets the baseline forecast from the next night on.

    Example: `harbor models live --by city`
    """
    if by not in accuracy.PARTS:
        raise typer.BadParameter(
            f"--by is {by!r}, but must be one of {', '.join(accuracy.PARTS)}."
        )
    with workplace() as place:
        found = live_accuracy.scores_by(place.engine, by, days)
        with place.engine.connect() as connection:
            worse = live_accuracy.worse_depots(connection) if by == "depot" else ()
    for row in found:
        row["gated"] = row["part"] in worse
    if as_json:
        show_json({"by": by, "days": days, "scores": found})
        return
    _show_live(found, by, days)


def _show_live(found: list[dict[str, Any]], by: str, days: int) -> None:
    if not found:
        say(
            "No live forecast has been scored yet. Each night scores the forecasts "
            "whose actuals have come in."
        )
        return
    columns = (
        "mape",
        "naive_mape",
        "median_mape",
        "wape",
        "bias",
        "coverage80",
        "days",
    )
    names = ("MAPE %", "naive %", "median4 %", "WAPE %", "bias %", "80 % band", "days")
    rows = [
        (str(row["part"]), *(row[name] for name in columns), "gated" * row["gated"])
        for row in found
    ]
    show_table(f"Live forecasts of {days} days", (by, *names, "naive gate"), rows)


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
    with workplace() as place:
        with place.engine.connect() as connection:
            found = _require(models.model(connection, version), version)
        if found["role"] == "evaluation":
            raise BadInputError(
                f"{version} is the evaluation fit of a challenger and serves "
                "hindcasts only. Promote the challenger itself."
            )
        forecast.require_kept(found)
        if found["promoted_at"] is None and not unchecked:
            _try_out(place, found)
        _crown(place, found, reason)
    _tell(version, reason, as_json)


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
    with workplace() as place:
        with place.engine.connect() as connection:
            before = models.champion_before(connection)
        if before is None:
            raise NothingToDoError(
                "There is no earlier champion to go back to. See 'harbor models list'."
            )
        _crown(place, before, reason)
    _tell(before["version"], reason, as_json)


def _try_out(place: Workplace, found: dict[str, Any]) -> None:
    """Refuses a model with which something is grossly wrong."""
    with place.engine.connect() as connection:
        champion = models.champion(connection)
    tried = canary.run_canary(place.engine, place.settings.artefacts, found, champion)
    with place.engine.begin() as connection:
        models.keep_canary(connection, found["version"], tried.to_json())
    if not tried.passed:
        raise BadInputError(
            f"{tried.sentence()} Add --unchecked to promote it all the same."
        )


def _crown(place: Workplace, found: dict[str, Any], reason: str) -> None:
    """Makes a model the champion, if its artefact is intact."""
    forecast.load_recorded(place.settings.artefacts, found)
    version = found["version"]
    with place.engine.begin() as connection:
        if not models.promote(connection, version, reason):
            # Pruned while its file was looked at.
            forecast.require_kept(_require(models.model(connection, version), version))


def _tell(version: str, reason: str, as_json: bool) -> None:
    if as_json:
        show_json({"champion": version, "reason": reason})
        return
    say(f"{version} is the champion. 'harbor forecast' writes its forecasts.")


def _require(found: dict[str, Any] | None, version: str) -> dict[str, Any]:
    if found is None:
        raise NoModelError(f"There is no model {version}. See 'harbor models list'.")
    return found
