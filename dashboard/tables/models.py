"""Models and their holdout scores, as display tables and texts; no I/O.

Holdout scores come from a second fit with the same settings, on the days before the
holdout.
"""

import math
from collections.abc import Mapping
from operator import itemgetter
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from dashboard.text import formatting
from dashboard.text.summaries import Figures
from forecaster.inference.network_share import describe_share

MODEL_LABELS = {
    "gru": "this model",
    "champion": "champion at the time",
    "earlier_champion": "earlier champion",
    "seasonal_naive": formatting.NAIVE,
    "median4": "median of 4",
}
ROLES = {
    "champion": "champion",
    "challenger": "not evaluated yet",
    "retired": "former champion",
    "rejected": "not promoted",
    "hindcast": "for hindcasts only",
}
NETWORK_SHARES = {
    None: "not recorded",
    0: "only the baseline: its network did not help",
}
COLUMNS = {"mape": "MAPE", "wape": "WAPE", "bias": "Bias", "coverage80": "In the 80 % band",
           "mase": "MASE", "days": "Days"}  # fmt: skip


def status_line(models: pd.DataFrame, zone: ZoneInfo) -> str:
    """The champion, and what became of the newest model, in a line."""
    newest = max(models.to_dict("records"), key=itemgetter("created_at"))
    latest = f"newest model {formatting.short_version(newest['version'])}"
    champions = models[models["role"] == "champion"].to_dict("records")
    if not champions:
        return f"No champion · {latest} {ROLES[newest['role']]}"
    [champion] = champions
    since = champion["promoted_at"]
    if pd.isna(since):
        since = champion["created_at"]
    first = (
        f"Champion {formatting.short_version(champion['version'])} since "
        f"{formatting.day(since.astimezone(zone))}"
    )
    if newest["version"] == champion["version"]:
        return f"{first} · it is the newest model"
    return f"{first} · {latest} {ROLES[newest['role']]}"


def figures(model: Mapping[Any, Any], zone: ZoneInfo) -> Figures:
    """Key figures of a row of `queries.models`; times in `zone`."""
    share = model["scores"].get("network_share")
    mape, naive_mape = _mapes(model["scores"])
    on_days = f", on {held_out_days(model)}" if holdout_window(model["scores"]) else ""
    return {
        "Status": (ROLES[model["role"]], f"version {model['version']}"),
        "Network weight": (
            formatting.UNKNOWN if share is None else f"{100 * share:.0f} %",
            NETWORK_SHARES.get(share, "of the network's correction to the baseline"),
        ),
        "Trained through": (
            formatting.day(model["trained_through"]),
            f"made {formatting.timestamp(model['created_at'], zone)}",
        ),
        "Off by, on average (MAPE)": (
            formatting.percent(mape / 100),
            f"{formatting.NAIVE} {formatting.percent(naive_mape / 100)}{on_days}",
        ),
    }


def holdout_scores(scores: Mapping[str, Any]) -> pd.DataFrame:
    """Holdout scores, one row per forecaster, this model first. Percent, except MASE."""
    models = scores.get("models") or {}
    table = pd.DataFrame.from_dict(models, orient="index", columns=list(COLUMNS))
    table = table.astype("float64").rename(columns=COLUMNS)
    table.index = pd.Index(
        [MODEL_LABELS.get(key, formatting.display_name(key)) for key in models],
        name="Forecaster",
    )
    return table.assign(
        **{
            "In the 80 % band": 100 * table["In the 80 % band"],
            "Days": table["Days"].astype("Int64"),
        }
    )


def _mapes(scores: Mapping[str, Any]) -> tuple[float, float]:
    """Holdout MAPE of the model and of the seasonal naive in percent; NaN where unknown."""
    mape = holdout_scores(scores)["MAPE"]
    model, naive = (MODEL_LABELS[name] for name in ("gru", "seasonal_naive"))
    return mape.get(model, math.nan), mape.get(naive, math.nan)


def holdout_window(scores: Mapping[str, Any]) -> str | None:
    """The origins of the holdout test, in words; None if it was not evaluated."""
    first, last = scores.get("first_origin"), scores.get("last_origin")
    if not (first and last):
        return None
    return (
        f"from {formatting.format_iso_day(first)} to {formatting.format_iso_day(last)}"
    )


def held_out_days(model: Mapping[Any, Any]) -> str:
    """'28 held-out days', the length of the holdout of an evaluated row of `queries.models`."""
    first = pd.Timestamp(model["scores"]["first_origin"])
    days = (pd.Timestamp(model["trained_through"]) - first).days
    return formatting.count(days, "held-out day")


def labels(models: pd.DataFrame) -> dict[str, str]:
    """Labels of the models for the select box, by version."""
    return {
        row["version"]: f"{formatting.day(row['trained_through'])} · "
        f"{formatting.short_version(row['version'])} · {ROLES[row['role']]}"
        for row in models.to_dict("records")
    }


def candidates(models: pd.DataFrame) -> dict[str, str]:
    """Labels of the models that may become champion, by version; the one before is named."""
    others = models[(models["role"] != "champion") & models["pruned_at"].isna()]
    before = rollback_target(models)
    return {
        version: f"{label}, the one before" if version == before else label
        for version, label in labels(others).items()
    }


def all_models(models: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """Display table of `queries.models`; times in `zone`."""
    mapes = [_mapes(each) for each in models["scores"]]
    shares = [each.get("network_share") for each in models["scores"]]
    return pd.DataFrame(
        {
            "Version": models["version"],
            "Status": models["role"].map(ROLES),
            "Network weight": list(map(describe_share, shares)),
            "Trained through": models["trained_through"],
            "MAPE": [mape for mape, _ in mapes],
            "Naive MAPE": [naive for _, naive in mapes],
            "Decision": [decision(model, zone) for model in models.to_dict("records")],
        }
    )


def decision(model: Mapping[Any, Any], zone: ZoneInfo) -> str:
    """Reason why a row of `queries.models` was promoted or not, and its pruning."""
    if isinstance(model["decision_reason"], str):
        reason = formatting.format_dates(model["decision_reason"], zone)
        for phrase in ("beats", "beat", "% of"):
            reason = reason.replace(
                f"{phrase} the seasonal naive", f"{phrase} {formatting.NAIVE}"
            )
    elif model["role"] == "challenger":
        reason = "To be evaluated in the next nightly run."
    else:
        reason = "No reason recorded."
    if pd.isna(model["pruned_at"]):
        return reason
    day = formatting.format_iso_day(f"{model['pruned_at']:%Y-%m-%d}")
    return f"{reason} Artefact pruned on {day}; it can no longer forecast."


def rollback_target(models: pd.DataFrame) -> str | None:
    """The version that a rollback would make champion; None where there is none."""
    version = models["rollback_target"].iloc[0]
    return None if pd.isna(version) else str(version)
