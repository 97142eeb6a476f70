"""Models and their holdout scores, as a display table and texts; no I/O."""

import math
from collections.abc import Mapping
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
    """Sentences on the live model's accuracy, age and test, and on the outcome of the newest model.

    Args:
      models: `queries.models`.
      scores: `queries.accuracy` of live forecasts.
      zone: The fleet's zone.
      occasions: Names of holidays and events by day; named if few days are scored.
    """
    newest = max(models.to_dict("records"), key=itemgetter("created_at"))
    outcome = ""
    if newest["role"] != "champion":
        day = formatting.day(newest["created_at"].astimezone(zone))
        outcome = f"The newest model, trained on {day}: {decision(newest, zone)}."
    champions = models[models["role"] == "champion"].to_dict("records")
    if not champions:
        return f"No model is in use, so no forecasts will be made. {outcome}"
    [champion] = champions
    live = _live_sentence(champion, scores, zone, occasions)
    of_model = scores[scores["model_version"] == champion["version"]]
    own, naive = summaries.errors(of_model)
    verdict = "Nothing to do." * bool(own < naive)
    if 0 < (n_days := of_model["n_days"].max()) < summaries.WEEK_DAYS:
        newest_on = scores["day_on"].where(scores["grain"].eq("day")).max()
        until = formatting.day(newest_on + (8 - n_days) * formatting.A_DAY)
        so_far = f"7 days of the new model are scored ({n_days:.0f} so far)"
        verdict = f"Nothing to do until {until}, when {so_far}."
    test = _test_sentence(champion)
    return " ".join(filter(None, [verdict, live, test, outcome]))


def _test_sentence(model: Model) -> str:
    """'In the test before use, on Sat 24 – Thu 26 Nov, it was off by 8.4 %, the model before by 8.5 %.'; '' without one."""
    own, before = (_tested(model["scores"], name) / 100 for name in ("gru", "champion"))
    if math.isnan(own):
        return ""
    first = pd.Timestamp(model["scores"]["first_origin"]) + formatting.A_DAY
    days = formatting.day_range(first, model["trained_through"])
    told = f"In the test before use, on {days}, it was off by {formatting.percent(own)}"
    compared = f", the model before by {formatting.percent(before)}"
    return f"{told}{compared * (before >= 0)}."


def _live_sentence(
    model: Model, scores: pd.DataFrame, zone: ZoneInfo, occasions: Names
) -> str:
    """'Live since Fri 27 Nov and scored on 3 days with Black Friday, the model was off by 16.2 % …'."""
    since = model["promoted_at"]
    since = (model["created_at"] if pd.isna(since) else since).astimezone(zone)
    live = scores[scores["model_version"] == model["version"]]
    if live["mape"].isna().all():
        return f"Live since {formatting.day(since)}, the model is not scored yet."
    told = formatting.count(n_days := int(live["n_days"].max()), "day")
    days = scores[scores["grain"] == "day"]["day_on"].drop_duplicates().sort_values()
    since_then = days[days >= pd.Timestamp(since.date())]
    few = since_then.head(n_days * (n_days < summaries.WEEK_DAYS))
    special = dict.fromkeys(filter(None, map(occasions.get, few)))
    # A model that was live before its last promotion was scored on other days, too.
    if special and len(few) == n_days:
        told = f"{told} with {formatting.listed([*special])}"
    subject = f"Live since {formatting.day(since)} and scored on {told}, the model was"
    return summaries.error_sentence(subject, live)


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
    records = models.to_dict("records")
    decisions = [decision(model, zone) for model in records]
    scored = scores[scores["grain"].eq("model")].dropna(subset=["mape"])
    live, naive = (
        scored[scored["forecaster"] == name].set_index("model_version")
        .reindex(models["version"])[["mape", "n_days"]].reset_index(drop=True)
        for name in ("forecast", "seasonal naive")
    )  # fmt: skip
    change = 100 * (live["mape"] / naive["mape"] - 1)
    went_live = pd.to_datetime(models["promoted_at"], utc=True)
    table = pd.DataFrame(
        {
            "Trained up to": formatting.days(models["trained_through"]),
            "Status": [words[:1].upper() + words[1:] for words in decisions],
            "Went live": formatting.days(went_live.dt.tz_convert(zone)),
            "Test: Off by": own,
            "Test: Model before": champion,
            "Live: Off by": 100 * live["mape"],
            "Live: Same day last week": 100 * naive["mape"],
            "Live: vs last week": change.where(live["n_days"] >= summaries.WEEK_DAYS),
            "Live: Days scored": live["n_days"].astype("Int64"),
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
    elif model["role"] == "challenger" and pd.isna(model["pruned_at"]):
        told.append("The next nightly run evaluates it")
    if not pd.isna(model["pruned_at"]):
        day = model["pruned_at"].astimezone(zone)
        pruned = f"Artefact pruned on {formatting.day(day)} {day.year}"
        told.append(f"{pruned}; it can no longer forecast")
    return ". ".join(filter(None, told))
