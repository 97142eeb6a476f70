"""Models and their holdout scores, as a display table and texts; no I/O."""

import math
from collections.abc import Mapping
from datetime import datetime
from operator import itemgetter
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from dashboard.text import formatting, summaries

Model = Mapping[Any, Any]
Names = Mapping[pd.Timestamp, str]
ROLES = {
    "champion": "in use",
    "challenger": "not evaluated yet",
    "retired": "used before",
    "rejected": "turned down",
    "hindcast": "for hindcasts only",
}


def status(
    models: pd.DataFrame, scores: pd.DataFrame, zone: ZoneInfo, occasions: Names
) -> str:
    """Sentences on the live model's accuracy and age, and on the outcome of the newest model.

    Args:
      models: `queries.models`.
      scores: `queries.accuracy` of live forecasts.
      zone: The fleet's zone.
      occasions: Names of holidays and events by day; named if few days are scored.
    """
    newest = max(models.to_dict("records"), key=itemgetter("created_at"))
    outcome = _outcome(newest, zone)
    champions = models[models["role"] == "champion"].to_dict("records")
    if not champions:
        return f"No model is in use, so no forecasts will be made. {outcome}"
    [champion] = champions
    day = formatting.day(_live_since(champion, zone))
    live = scores[scores["model_version"] == champion["version"]]
    if live["mape"].isna().all():
        return f"The model, live since {day}, is not scored yet. {outcome}".strip()
    scored = _scored_days(champion, scores, zone, occasions)
    subject = f"The model, live since {day} and scored on {scored}, was"
    return f"{summaries.error_sentence(subject, live)} {outcome}".strip()


def _live_since(model: Model, zone: ZoneInfo) -> datetime:
    since = model["promoted_at"]
    since = model["created_at"] if pd.isna(since) else since
    return since.astimezone(zone)


def _scored_days(
    model: Model, scores: pd.DataFrame, zone: ZoneInfo, occasions: Names
) -> str:
    """'9 days' of a scored model's forecasts; '3 days with Black Friday' if they are few."""
    own = scores[scores["model_version"] == model["version"]]
    told = formatting.count(n_days := int(own["n_days"].max()), "day")
    days = scores[scores["grain"] == "day"]["day_on"].drop_duplicates().sort_values()
    first_on = pd.Timestamp(_live_since(model, zone).date())
    few = days[days >= first_on].head(n_days * (n_days < summaries.WEEK_DAYS))
    special = dict.fromkeys(filter(None, map(occasions.get, few)))
    # A model that was live before its last promotion was scored on other days, too.
    is_known = bool(special) and len(few) == n_days
    return f"{told} with {formatting.listed([*special])}" if is_known else told


def _outcome(newest: Model, zone: ZoneInfo) -> str:
    """'The newest model, trained on Fri 21 Nov: turned down. It is worse than …'; '' if in use."""
    if newest["role"] == "champion":
        return ""
    day = formatting.day(newest["created_at"].astimezone(zone))
    return f"The newest model, trained on {day}: {decision(newest, zone)}."


def _tested(scores: Mapping[Any, Any], name: str) -> float:
    """Forecaster `name`'s MAPE in a model's test, in percent; NaN if there is none."""
    mape = ((scores.get("models") or {}).get(name) or {}).get("mape")
    return math.nan if mape is None else float(mape)


def all_models(
    models: pd.DataFrame, scores: pd.DataFrame, zone: ZoneInfo, occasions: Names
) -> pd.DataFrame:
    """Display table of `queries.models`, no empty columns; arguments as in `status`."""
    own, champion = (
        [_tested(each, name) for each in models["scores"]]
        for name in ("gru", "champion")
    )
    records = models.to_dict("records")
    decisions = [decision(model, zone) for model in records]
    is_own = scores["grain"].eq("model") & scores["forecaster"].eq("forecast")
    mapes = scores[is_own].set_index("model_version")["mape"].dropna()
    live = [
        f"{formatting.percent(mapes[version])} on {_scored_days(model, scores, zone, occasions)}"
        if (version := model["version"]) in mapes
        else None
        for model in records
    ]
    went_live = pd.to_datetime(models["promoted_at"], utc=True)
    table = pd.DataFrame(
        {
            "Trained up to": formatting.days(models["trained_through"]),
            "Status": [words[:1].upper() + words[1:] for words in decisions],
            "Went live": formatting.days(went_live.dt.tz_convert(zone)),
            "Off by: Live": live,
            "Off by: Test before use": own,
            "Off by: Model before, same test": champion,
            "Version": models["version"].to_list(),
        }
    )
    return table.dropna(axis="columns", how="all")


def decision(model: Model, zone: ZoneInfo) -> str:
    """Role, reason and pruning of a row of `queries.models`: 'turned down. It is worse than …'.

    Leaves out the test's scores, which the table has, and the reason if the model passed.
    """
    told, reason = [ROLES[model["role"]]], model["decision_reason"]
    if isinstance(reason, str):
        verdict, _, scores = reason.partition(": MAPE ")
        if not scores[:1].isdigit():
            verdict = reason.rstrip(".")
        elif "seasonal naive" in verdict and model["role"] in ("champion", "retired"):
            verdict = ""
        words = formatting.format_dates(verdict, zone)
        told.append(formatting.with_naive_name(words))
    elif model["role"] == "challenger":
        told.append("The next nightly run evaluates it")
    if not pd.isna(model["pruned_at"]):
        day = model["pruned_at"].astimezone(zone)
        pruned = f"Artefact pruned on {formatting.day(day)} {day.year}"
        told.append(f"{pruned}; it can no longer forecast")
    return ". ".join(filter(None, told))
