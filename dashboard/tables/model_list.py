"""Models and their holdout scores, as a display table and texts; no I/O."""

from collections.abc import Mapping
from operator import itemgetter
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from dashboard.text import formatting

ROLES = {
    "champion": "champion",
    "challenger": "not evaluated yet",
    "retired": "former champion",
    "rejected": "not promoted",
    "hindcast": "for hindcasts only",
}


def status_line(models: pd.DataFrame, zone: ZoneInfo) -> str:
    """The champion, and what became of the newest model."""
    newest = max(models.to_dict("records"), key=itemgetter("created_at"))
    version = formatting.short_version(newest["version"])
    latest = f"The newest model, {version}: {ROLES[newest['role']]}."
    champions = models[models["role"] == "champion"].to_dict("records")
    if not champions:
        return f"No model makes forecasts. {latest}"
    [champion] = champions
    since = champion["promoted_at"]
    if pd.isna(since):
        since = champion["created_at"]
    if newest["version"] == champion["version"]:
        latest = "It is the newest model."
    return (
        f"Forecasts come from the model {formatting.short_version(champion['version'])}, the "
        f"champion since {formatting.day(since.astimezone(zone))}. {latest}"
    )


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
            "Version": models["version"].to_list(),
            "Status": models["role"].map(ROLES).to_list(),
            "Trained through": models["trained_through"].to_list(),
            "MAPE": own["mape"],
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
