"""Models and their holdout scores, as a display table and texts; no I/O."""

import math
from collections.abc import Mapping
from operator import itemgetter
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from dashboard.text import formatting, summaries

ROLES = {
    "champion": "champion",
    "challenger": "not evaluated yet",
    "retired": "former champion",
    "rejected": "turned down",
    "hindcast": "for hindcasts only",
}


def status(models: pd.DataFrame, scores: pd.DataFrame, zone: ZoneInfo) -> str:
    """How good the model is that is live, which it is, and what became of the newest one.

    Args:
      models: `queries.models`.
      scores: `queries.accuracy` of live forecasts; without the model's its test is told.
      zone: The fleet's zone.
    """
    newest = max(models.to_dict("records"), key=itemgetter("created_at"))
    champions = models[models["role"] == "champion"].to_dict("records")
    if not champions:
        return f"No model makes forecasts. {_outcome(newest, zone)}"
    [champion] = champions
    since = champion["promoted_at"]
    if pd.isna(since):
        since = champion["created_at"]
    live = scores[scores["model_version"] == champion["version"]]
    live = live.set_index("forecaster")
    mape = live["mape"].to_dict()
    names = ("forecast", "seasonal naive")
    if mape:
        number = formatting.count(int(live["counted"].iloc[0]), "scored forecast")
        subject = f"The model in use has {number}, which were"
    else:
        tested = (champion["scores"] or {}).get("models") or {}
        mape = {
            name: (each.get("mape") or math.nan) / 100 for name, each in tested.items()
        }
        subject = "The model in use has no scored forecast yet; in its test it was"
        names = ("gru", "seasonal_naive")
    error = summaries.error_sentence(
        subject, *(mape.get(name, math.nan) for name in names)
    )
    day = formatting.day(since.astimezone(zone))
    return f"{error} It is live since {day}. {_outcome(newest, zone)}".strip()


def _outcome(newest: Mapping[Any, Any], zone: ZoneInfo) -> str:
    """'The newest model, trained on Fri 21 Nov: turned down. It is worse than …'."""
    day = formatting.day(newest["created_at"].astimezone(zone))
    outcome = f"The newest model, trained on {day}: {ROLES[newest['role']]}"
    if newest["role"] == "champion":
        return "It is the newest model."
    if not isinstance(newest["decision_reason"], str):
        return f"{outcome}."
    # The numbers are in the list.
    reason = decision(newest, zone).partition(": MAPE")[0].rstrip(".")
    return f"{outcome}. {reason}."


def all_models(models: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """Display table of `queries.models`; times in `zone`."""
    holdouts = [each.get("models") or {} for each in models["scores"]]
    own = pd.DataFrame([each.get("gru", {}) for each in holdouts])
    naive = pd.DataFrame([each.get("seasonal_naive", {}) for each in holdouts])
    own, naive = (
        each.reindex(columns=["mape", "bias", "coverage80"]).astype("float64")
        for each in (own, naive)
    )
    return pd.DataFrame(
        {
            "Trained through": models["trained_through"].to_list(),
            "Status": models["role"].map(ROLES).to_list(),
            "Version": models["version"].to_list(),
            "MAPE in its test": own["mape"],
            formatting.NAIVE.capitalize(): naive["mape"],
            "Bias": own["bias"],
            "In the 80 % band": 100 * own["coverage80"],
            "Decision": [decision(model, zone) for model in models.to_dict("records")],
        }
    )


def decision(model: Mapping[Any, Any], zone: ZoneInfo) -> str:
    """Reason why a row of `queries.models` was promoted or not, and its pruning."""
    if isinstance(model["decision_reason"], str):
        reason = formatting.format_dates(model["decision_reason"], zone)
        reason = formatting.with_naive_name(reason)
    elif model["role"] == "challenger":
        reason = "To be evaluated in the next nightly run."
    else:
        reason = "No reason recorded."
    if pd.isna(model["pruned_at"]):
        return reason
    day = formatting.format_iso_day(f"{model['pruned_at']:%Y-%m-%d}")
    return f"{reason} Artefact pruned on {day}; it can no longer forecast."


def rollback(models: pd.DataFrame) -> str:
    """' `harbor models rollback` makes VERSION champion again.'; '' where there is none."""
    version = models["rollback_target"].iloc[0]
    if pd.isna(version):
        return ""
    return f" `harbor models rollback` makes {version} champion again."
