"""Decides whether a challenger becomes champion, and stores the reason."""

import math
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from forecaster.errors import NothingToDoError
from pipelines.database.engine import snapshot
from pipelines.demand.panels import ReadPanels
from pipelines.forecasting.forecast import first_usable
from pipelines.store import models
from pipelines.store.demand import last_day
from pipelines.store.models import Model
from pipelines.training import canary
from pipelines.training.canary import CanaryResult

MAX_MAPE_RATIO = 1.02
"""Maximum ratio of a challenger's MAPE to the champion's. It is above 1 because the challenger has
newer data, and two fits with the same settings differ by about 2 % by chance. An earlier champion
has the same limit, so that small losses do not add up night after night."""

AS_BASELINE = "Delivering the baseline, it"
"""Beginning of the reason if the network has no share in the forecast."""


@dataclass(frozen=True)
class PromotionDecision:
    """The decision on a challenger, and its reason in one sentence."""

    version: str
    promoted: bool
    reason: str
    # None if no canary was run.
    canary: CanaryResult | None = None
    # Whether the model serves hindcasts because its data are too old for promotion.
    serves_hindcasts: bool = False

    def metrics(self) -> dict[str, Any]:
        """The decision as run metrics; a failed canary is also an alarm."""
        metrics: dict[str, Any] = {"promoted": self.promoted, "reason": self.reason}
        if self.canary is not None:
            metrics["canary"] = self.canary.to_json()
            if not self.canary.passed:
                metrics["canary_failed"] = f"{self.version}: {self.reason}"
        return metrics


def promote_if_better(
    engine: sa.Engine,
    artefacts: Path,
    read_panels: ReadPanels,
    chosen: str | date,
) -> PromotionDecision:
    """Promotes or rejects a challenger by its holdout scores and canary.

    The serving model is the champion or, if that was trained on days withdrawn since or its file is
    unusable, a former champion. A challenger is promoted if all of these hold; a decision is final.
    - It was not trained on older data than the serving model; otherwise it serves hindcasts.
    - Its evaluation model's holdout MAPE is at most the seasonal naive's, to two decimals.
    - That MAPE is at most `MAX_MAPE_RATIO` times the champion's, and differs from it at two decimals.
      Both conditions are dropped if the champion's file is unusable, not if days are withdrawn.
    - That MAPE is at most `MAX_MAPE_RATIO` times that of the last champion from before the holdout.
    - Its canary passes. This is the only condition if no other model can forecast.

    Args:
      engine: Database the pipelines own.
      artefacts: Folder of exported models.
      read_panels: Returns the panels of the canary.
      chosen: The challenger's version; or a day, for the newest challenger trained through it or
        earlier. A later one was trained while the clock was ahead.

    Raises:
      NothingToDoError: there is no challenger.
    """
    with snapshot(engine) as connection:
        champion = models.champion(connection)
        last_day_on = last_day(connection) or date.max
        choices = models.servable(connection, last_day_on)
        challenger = (
            models.model(connection, chosen)
            if isinstance(chosen, str)
            else models.newest_challenger(connection, chosen)
        )
    if challenger is None:
        raise NothingToDoError(
            "There is no challenger to judge. Train one with 'harbor train'."
        )
    if challenger["role"] != "challenger":
        reason = f"It has been judged already. {challenger['decision_reason'] or ''}"
        promoted = challenger["role"] == "champion"
        return PromotionDecision(challenger["version"], promoted, reason.strip())
    # An artefact that is lost, or has another release's schema, cannot forecast.
    found = first_usable(artefacts, choices)
    serving = None if found is None else found[0]
    own, may_forecast = _version(champion), {_version(each) for each in choices}
    is_lost = own in may_forecast and own != _version(serving)
    decision = _decide(challenger, serving, is_lost)
    if decision.promoted:
        result = canary.run_canary(engine, artefacts, challenger, serving, read_panels)
        decision = replace(decision, canary=result)
        if not result.passed:
            decision = replace(decision, promoted=False, reason=result.sentence())
    with engine.begin() as connection:
        if _version(models.champion(connection)) == _version(champion):
            if decision.canary is not None:
                canary_json = decision.canary.to_json()
                models.set_canary(connection, decision.version, canary_json)
            return _store(connection, decision)
    # Another model was promoted meanwhile.
    return promote_if_better(engine, artefacts, read_panels, chosen)


def _store(connection: sa.Connection, decision: PromotionDecision) -> PromotionDecision:
    """Stores a decision; a challenger whose artefact was pruned meanwhile is rejected."""
    version, reason = decision.version, decision.reason
    if decision.promoted:
        if models.promote(connection, version, reason):
            return decision
        reason = "Its file was deleted before it could be promoted."
        decision = replace(decision, promoted=False, reason=reason)
    models.reject(
        connection, version, reason, serves_hindcasts=decision.serves_hindcasts
    )
    return decision


def _version(model: Model | None) -> str | None:
    return None if model is None else model["version"]


def _decide(
    challenger: Model, serving: Model | None, champion_is_lost: bool
) -> PromotionDecision:
    version, through = challenger["version"], challenger["trained_through"]
    if serving is not None and through < serving["trained_through"]:
        return PromotionDecision(
            version,
            False,
            f"It was trained through {through}, and {serving['version']}, which forecasts "
            f"now, through {serving['trained_through']}: it serves hindcasts.",
            serves_hindcasts=True,
        )
    scores = challenger["scores"]
    if champion_is_lost and serving is not None:
        # The champion's scores are ignored: a former champion forecasts in its place.
        others = {k: v for k, v in scores.get("models", {}).items() if k != "champion"}
        scores = scores | {"models": others}
    return decide(version, scores, is_only=serving is None)


def decide(version: str, scores: dict[str, Any], is_only: bool) -> PromotionDecision:
    """Decides promotion from the percentages of `backtesting.evaluation_scores`; no I/O.

    `is_only` is true if no other model may forecast.
    """
    # "gru" is the challenger: stored scores and the commands' JSON have this key.
    challenger, naive, champion, earlier = (
        _mape(scores, name)
        for name in ("gru", "seasonal_naive", "champion", "earlier_champion")
    )
    is_as_good = _is_tie(challenger, naive)
    # Baselines tie night after night, but the newer one's bands come from a longer history.
    is_baseline = scores.get("network_share") == 0
    promoted = False
    if not (challenger < naive or is_as_good):
        outcome = "does not beat the seasonal naive"
    elif challenger > MAX_MAPE_RATIO * champion:
        outcome = "is worse than the champion"
    elif challenger > MAX_MAPE_RATIO * earlier:
        outcome = "is worse than an earlier champion"
    elif _is_tie(challenger, champion) and not is_baseline:
        outcome = "is no better than the champion"
    else:
        promoted, outcome = True, "beats the seasonal naive"
        if is_as_good:
            outcome = "is as good as the seasonal naive"
        if challenger > champion:
            outcome += (
                f" and is within {100 * (MAX_MAPE_RATIO - 1):.0f} % of the champion"
            )
    if is_only and not promoted:
        promoted, outcome = True, "is the only model that may forecast"
    compared = f"MAPE {_told(challenger)} against {_told(naive)} of the seasonal naive"
    if not math.isnan(champion):
        compared += f" and {champion:.2f} % of the champion"
    if not math.isnan(earlier):
        compared += f", and {earlier:.2f} % of an earlier champion"
    days = f"from {scores.get('first_origin')} to {scores.get('last_origin')}"
    subject = AS_BASELINE if is_baseline else "It"
    return PromotionDecision(
        version, promoted, f"{subject} {outcome}: {compared}, {days}."
    )


def _is_tie(mape: float, other: float) -> bool:
    """Whether two MAPEs are equal to two decimals; False if either is NaN."""
    return f"{mape:.2f}" == f"{other:.2f}" != "nan"


def _told(mape: float) -> str:
    """A MAPE in words; without a day with orders there is none."""
    return "undefined" if math.isnan(mape) else f"{mape:.2f} %"


def _mape(scores: dict[str, Any], model: str) -> float:
    """A model's MAPE in percent; NaN if it is undefined or the model is missing."""
    mape = scores.get("models", {}).get(model, {}).get("mape")
    return math.nan if mape is None else float(mape)
