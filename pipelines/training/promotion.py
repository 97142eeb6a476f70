"""Whether a challenger becomes champion, with the reason written down."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from forecaster.errors import NothingToDoError
from pipelines.database.engine import snapshot
from pipelines.store import models
from pipelines.training import canary
from pipelines.training.canary import CanaryResult

NO_WORSE = 1.02
"""A challenger may miss by so much more than the champion: it is newer, and two fits of
the same settings differ by about as much by chance."""


AS_BASELINE = "Delivering the baseline, it"
"""Begins a reason where the network did not help and has no share in the forecast."""


@dataclass(frozen=True)
class PromotionDecision:
    """The decision on a challenger, and its reason in one sentence."""

    version: str
    promoted: bool
    reason: str
    # None where it did not come to that.
    canary: CanaryResult | None = None

    def metrics(self) -> dict[str, Any]:
        """For the ledger; a canary that failed is told apart, as an alarm."""
        told: dict[str, Any] = {"promoted": self.promoted, "reason": self.reason}
        if self.canary is not None:
            told["canary"] = self.canary.to_json()
            if not self.canary.passed:
                told["canary_failed"] = f"{self.version}: {self.reason}"
        return told


def promote_if_better(
    engine: sa.Engine, artefacts: Path, version: str | None = None
) -> PromotionDecision:
    """Decides on a challenger by the scores of its judged fit, and by its canary.

    Over the days that fit had not seen it must beat the seasonal naive and be no worse
    than the champion's judged fit, nor just as good, and it must not have learnt from
    less than the champion. The first model of a fleet is promoted whatever its scores, because nothing
    else can forecast. Whoever would be promoted first forecasts beside the champion, and
    is not if something is grossly wrong there. A model that has been decided on keeps
    its verdict.

    Args:
      engine: Database the pipelines own.
      artefacts: Folder of exported models.
      version: Of the challenger; the newest one without it.

    Raises:
      NothingToDoError: there is no challenger.
    """
    with snapshot(engine) as connection:
        found = _challenger(connection, version)
        champion = models.champion(connection)
    if found["role"] != "challenger":
        reason = f"It has been judged already. {found['decision_reason'] or ''}".strip()
        return PromotionDecision(found["version"], found["role"] == "champion", reason)
    verdict = _verdict(found, champion)
    if verdict.promoted:
        tried = canary.run_canary(engine, artefacts, found, champion)
        verdict = replace(verdict, canary=tried)
        if not tried.passed:
            verdict = replace(verdict, promoted=False, reason=tried.sentence())
    with engine.begin() as connection:
        if _version(models.champion(connection)) == _version(champion):
            _write(connection, verdict)
            return verdict
    # Somebody has promoted another one by hand meanwhile.
    return promote_if_better(engine, artefacts, version)


def _challenger(connection: sa.Connection, version: str | None) -> dict[str, Any]:
    found = (
        models.newest_challenger(connection)
        if version is None
        else models.model(connection, version)
    )
    if found is None:
        raise NothingToDoError(
            "There is no challenger to judge. Train one with 'harbor train'."
        )
    return found


def _write(connection: sa.Connection, verdict: PromotionDecision) -> None:
    if verdict.canary is not None:
        models.keep_canary(connection, verdict.version, verdict.canary.to_json())
    decide = models.promote if verdict.promoted else models.reject
    decide(connection, verdict.version, verdict.reason)


def _version(model: dict[str, Any] | None) -> str | None:
    return None if model is None else str(model["version"])


def _verdict(
    challenger: dict[str, Any], champion: dict[str, Any] | None
) -> PromotionDecision:
    version, through = challenger["version"], challenger["trained_through"]
    if champion is not None and through < champion["trained_through"]:
        return PromotionDecision(
            version,
            False,
            f"It was trained through {through}, and the champion through "
            f"{champion['trained_through']}: it serves hindcasts.",
        )
    return decide(version, challenger["scores"], is_first=champion is None)


def decide(version: str, scores: dict[str, Any], is_first: bool) -> PromotionDecision:
    """The rule alone.

    Args:
      version: Of the challenger.
      scores: As `backtesting.evaluation_scores` gives them, in percent; with `network_share`.
      is_first: Whether there is no champion.
    """
    own, naive, champion = (
        _mape(scores, name) for name in ("gru", "seasonal_naive", "champion")
    )
    compared = f"MAPE {own:.2f} % against {naive:.2f} % of the seasonal naive"
    if not math.isnan(champion):
        compared += f" and {champion:.2f} % of the champion"
    days = f"from {scores.get('first_origin')} to {scores.get('last_origin')}"
    promoted, why = _rule(own, naive, champion, is_first)
    it = AS_BASELINE if scores.get("network_share") == 0 else "It"
    return PromotionDecision(version, promoted, f"{it} {why}: {compared}, {days}.")


def _rule(
    own: float, naive: float, champion: float, is_first: bool
) -> tuple[bool, str]:
    """Whether a challenger is promoted, and what it does; MAPE in percent."""
    if not own <= naive:
        told = "is the first model" if is_first else "does not beat the seasonal naive"
        return is_first, told
    if own > NO_WORSE * champion:
        return False, "is worse than the champion"
    if f"{own:.2f}" == f"{champion:.2f}":
        return False, "is no better than the champion"
    return True, "beats the seasonal naive"


def _mape(scores: dict[str, Any], model: str) -> float:
    found = scores.get("models", {}).get(model, {}).get("mape")
    return math.nan if found is None else float(found)
