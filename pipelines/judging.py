"""Whether a challenger becomes champion, with the reason written down."""

import math
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from forecaster.errors import NothingToDoError
from pipelines.store import models


@dataclass(frozen=True)
class Verdict:
    """The decision on a challenger, and its reason in one sentence."""

    version: str
    promoted: bool
    reason: str


def judge(engine: sa.Engine) -> Verdict:
    """Decides on the newest challenger by the scores of its judged fit.

    It must beat the seasonal naive over the days that fit had not seen. The first model
    of a fleet is promoted whatever its scores, because nothing else can forecast.

    Raises:
      NothingToDoError: there is no challenger.
    """
    with engine.begin() as connection:
        challenger = models.newest_challenger(connection)
        if challenger is None:
            raise NothingToDoError(
                "There is no challenger to judge. Train one with 'harbor train'."
            )
        first = models.champion(connection) is None
        verdict = decide(challenger["version"], challenger["scores"], first)
        if verdict.promoted:
            models.promote(connection, verdict.version, verdict.reason)
        else:
            models.reject(connection, verdict.version, verdict.reason)
    return verdict


def decide(version: str, scores: dict[str, Any], is_first: bool) -> Verdict:
    """The rule alone.

    Args:
      version: Of the challenger.
      scores: As `training.judge_scores` gives them, in percent.
      is_first: Whether there is no champion.
    """
    own = _mape(scores, "gru")
    naive = _mape(scores, "seasonal_naive")
    days = f"from {scores.get('first_origin')} to {scores.get('last_origin')}"
    compared = f"MAPE {own:.2f} % against {naive:.2f} % of the seasonal naive, {days}"
    if own <= naive:
        return Verdict(version, True, f"It beats the seasonal naive: {compared}.")
    if is_first:
        return Verdict(version, True, f"It is the first model: {compared}.")
    return Verdict(version, False, f"It does not beat the seasonal naive: {compared}.")


def _mape(scores: dict[str, Any], model: str) -> float:
    found = scores.get("models", {}).get(model, {}).get("mape")
    return math.nan if found is None else float(found)
