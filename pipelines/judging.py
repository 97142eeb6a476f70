"""Whether a challenger becomes champion, with the reason written down."""

import math
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from forecaster.errors import NothingToDoError
from pipelines.store import models

NO_WORSE = 1.02
"""A challenger may miss by so much more than the champion: it is newer, and two fits of
the same settings differ by about as much by chance."""


@dataclass(frozen=True)
class Verdict:
    """The decision on a challenger, and its reason in one sentence."""

    version: str
    promoted: bool
    reason: str


def judge(engine: sa.Engine, version: str | None = None) -> Verdict:
    """Decides on a challenger by the scores of its judged fit.

    Over the days that fit had not seen it must beat the seasonal naive and be no worse
    than the champion's judged fit, and it must not have learnt from less than the
    champion. The first model of a fleet is promoted
    whatever its scores, because nothing else can forecast. A model that has been
    decided on keeps its verdict.

    Args:
      engine: Database the pipelines own.
      version: Of the challenger; the newest one without it.

    Raises:
      NothingToDoError: there is no challenger.
    """
    with engine.begin() as connection:
        found = (
            models.newest_challenger(connection)
            if version is None
            else models.model(connection, version)
        )
        if found is None:
            raise NothingToDoError(
                "There is no challenger to judge. Train one with 'harbor train'."
            )
        if found["role"] != "challenger":
            reason = f"It was judged before. {found['reason'] or ''}".strip()
            return Verdict(found["version"], found["role"] == "champion", reason)
        verdict = _verdict(found, models.champion(connection))
        if verdict.promoted:
            models.promote(connection, verdict.version, verdict.reason)
        else:
            models.reject(connection, verdict.version, verdict.reason)
    return verdict


def _verdict(challenger: dict[str, Any], champion: dict[str, Any] | None) -> Verdict:
    version, through = challenger["version"], challenger["trained_through"]
    if champion is not None and through < champion["trained_through"]:
        return Verdict(
            version,
            False,
            f"It was trained through {through}, and the champion through "
            f"{champion['trained_through']}: it serves hindcasts.",
        )
    return decide(version, challenger["scores"], is_first=champion is None)


def decide(version: str, scores: dict[str, Any], is_first: bool) -> Verdict:
    """The rule alone.

    Args:
      version: Of the challenger.
      scores: As `backtesting.judge_scores` gives them, in percent.
      is_first: Whether there is no champion.
    """
    own, naive, champion = (
        _mape(scores, name) for name in ("gru", "seasonal_naive", "champion")
    )
    compared = f"MAPE {own:.2f} % against {naive:.2f} % of the seasonal naive"
    if not math.isnan(champion):
        compared += f" and {champion:.2f} % of the champion"
    days = f"from {scores.get('first_origin')} to {scores.get('last_origin')}"
    compared = f"{compared}, {days}"
    if not own <= naive:
        if is_first:
            return Verdict(version, True, f"It is the first model: {compared}.")
        return Verdict(
            version, False, f"It does not beat the seasonal naive: {compared}."
        )
    if own > NO_WORSE * champion:
        return Verdict(version, False, f"It is worse than the champion: {compared}.")
    return Verdict(version, True, f"It beats the seasonal naive: {compared}.")


def _mape(scores: dict[str, Any], model: str) -> float:
    found = scores.get("models", {}).get(model, {}).get("mape")
    return math.nan if found is None else float(found)
