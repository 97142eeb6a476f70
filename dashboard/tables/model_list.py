"""Models and their holdout scores, as a display table and texts; no I/O."""

import math
from collections.abc import Mapping
from operator import itemgetter
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from dashboard.text import formatting, summaries

ROLES = {
    "champion": "in use",
    "challenger": "not evaluated yet",
    "retired": "used before",
    "rejected": "turned down",
    "hindcast": "for hindcasts only",
}


def status(
    models: pd.DataFrame,
    scores: pd.DataFrame,
    zone: ZoneInfo,
    occasions: Mapping[pd.Timestamp, str],
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
    since = champion["promoted_at"]
    since = champion["created_at"] if pd.isna(since) else since
    day = formatting.day(since.astimezone(zone))
    live = scores[scores["model_version"] == champion["version"]]
    if live["mape"].isna().all():
        return f"The model, live since {day}, is not scored yet. {outcome}".strip()
    mapes = live.set_index("forecaster")["mape"]
    own, naive = mapes["forecast"], mapes.get("seasonal naive", math.nan)
    scored = formatting.count(n_days := int(live["n_days"].max()), "day")
    subject = f"The model, live since {day} and scored on {scored}, was"
    error = summaries.error_sentence(subject, own, naive)
    first_on = pd.Timestamp(since.astimezone(zone).date())
    days = scores[scores["grain"] == "day"]["day_on"].drop_duplicates().sort_values()
    own_days = days[days >= first_on].tail(n_days * (n_days < summaries.WEEK_DAYS))
    special = formatting.listed(
        [*dict.fromkeys(filter(None, map(occasions.get, own_days)))]
    )
    told = f"Among these days: {special}. " if special else ""
    return f"{error} {told}{outcome}".strip()


def _outcome(newest: Mapping[Any, Any], zone: ZoneInfo) -> str:
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
    models: pd.DataFrame, scores: pd.DataFrame, zone: ZoneInfo
) -> pd.DataFrame:
    """Display table of `queries.models`, no empty columns; arguments as in `status`."""
    own, champion = (
        [_tested(each, name) for each in models["scores"]]
        for name in ("gru", "champion")
    )
    decisions = [decision(model, zone) for model in models.to_dict("records")]
    of_models = scores.query("grain == 'model' and forecaster == 'forecast'")
    live = of_models.set_index("model_version")["mape"]
    went_live = pd.to_datetime(models["promoted_at"], utc=True)
    table = pd.DataFrame(
        {
            "Trained up to": formatting.days(models["trained_through"]),
            "Status": [words[:1].upper() + words[1:] for words in decisions],
            "Went live": formatting.days(went_live.dt.tz_convert(zone)),
            "Live: Off by": 100 * models["version"].map(live).to_numpy(float),
            "Test: Off by": own,
            "Test: Model before": champion,
            "Version": models["version"].to_list(),
        }
    )
    return table.dropna(axis="columns", how="all")


def decision(model: Mapping[Any, Any], zone: ZoneInfo) -> str:
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
