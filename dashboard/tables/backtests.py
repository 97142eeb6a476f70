"""The scores kept with each model → tables. No I/O.

A model is judged by a fit of the same settings that ended before the days it is judged
on; its scores stand beside those of the baselines and of the champion of that night.
"""

from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from dashboard.text import formatting
from forecaster.inference import postprocessing

OWN = "gru"
NAMES = {
    OWN: "this model",
    "champion": "champion then",
    "seasonal_naive": "seasonal naive",
    "median4": "median of 4",
}
ROLES = {
    "champion": "champion",
    "challenger": "not evaluated yet",
    "retired": "former champion",
    "rejected": "not promoted",
}


def figures(model: Mapping[Any, Any], zone: ZoneInfo) -> dict[str, tuple[str, str]]:
    """What a model is and what it has learnt from, as large numbers.

    Args:
      model: A row of `queries.models`.
      zone: In which times are told.
    """
    own = _score(model["scores"].get("models") or {}, OWN) / 100
    naive = _score(model["scores"].get("models") or {}, "seasonal_naive") / 100
    return {
        "Status": (ROLES[model["role"]], f"version {model['version']}"),
        "Forecasts by": delivers(model["scores"]),
        "Trained through": (
            formatting.day(model["trained_through"]),
            f"made {formatting.moment(model['created_at'], zone)}",
        ),
        "MAPE": (
            formatting.percent(own),
            f"{formatting.percent(naive)} seasonal naive",
        ),
    }


def delivers(scores: Mapping[str, Any]) -> tuple[str, str]:
    """Whether a model's forecast is its network's or the baseline, and why.

    Args:
      scores: As `queries.models` has them.
    """
    share = scores.get("network_share")
    why = {
        None: "not recorded",
        0: "its network did not help",
        1: "its correction in full",
    }
    return postprocessing.describe_share(share), why.get(
        share, "the rest is the baseline"
    )


def table(scores: Mapping[str, Any]) -> pd.DataFrame:
    """One model's backtest: a row per forecaster, its own first.

    Args:
      scores: As `queries.models` has them.
    """
    of = scores.get("models") or {}
    return pd.DataFrame(
        {
            "Forecaster": [_name(key) for key in of],
            "MAPE": _numbers(of, "mape"),
            "WAPE": _numbers(of, "wape"),
            "Bias": _numbers(of, "bias"),
            "In band": 100 * _numbers(of, "coverage80"),
            "MASE": _numbers(of, "mase"),
            "Days": _numbers(of, "days").astype("Int64"),
        }
    )


def window(scores: Mapping[str, Any]) -> str | None:
    """The origins it was judged from, in words; None where it was not."""
    first, last = scores.get("first_origin"), scores.get("last_origin")
    if not (first and last):
        return None
    return f"from {formatting.iso_day(first)} to {formatting.iso_day(last)}"


def labels(models: pd.DataFrame) -> dict[str, str]:
    """Every model by its version, as it is offered for choice."""
    return {
        row["version"]: f"{formatting.day(row['trained_through'])} · "
        f"{formatting.short(row['version'])} · {ROLES[row['role']]}"
        for row in models.to_dict("records")
    }


def all_models(models: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """`queries.models`, for people; times are told in `zone`."""
    of = [dict(scores.get("models") or {}) for scores in models["scores"]]
    return pd.DataFrame(
        {
            "Version": models["version"],
            "Status": models["role"].map(ROLES),
            "Forecasts by": [delivers(scores)[0] for scores in models["scores"]],
            "Trained through": models["trained_through"],
            "MAPE": [_score(scores, OWN) for scores in of],
            "Naive MAPE": [_score(scores, "seasonal_naive") for scores in of],
            "Decision": [verdict(model, zone) for model in models.to_dict("records")],
        }
    )


def verdict(model: Mapping[Any, Any], zone: ZoneInfo) -> str:
    """Why it was promoted or not, and whether it can forecast no more.

    Args:
      model: A row of `queries.models`.
      zone: In which times are told.
    """
    return f"{_reason(model, zone)} {_pruned(model)}".strip()


def _reason(model: Mapping[Any, Any], zone: ZoneInfo) -> str:
    if isinstance(model["decision_reason"], str):
        return formatting.dated(model["decision_reason"], zone)
    if model["role"] == "challenger":
        return "To be evaluated in the next nightly run."
    return "No reason recorded."


def _pruned(model: Mapping[Any, Any]) -> str:
    if pd.isna(model["pruned_at"]):
        return ""
    on = formatting.iso_day(f"{model['pruned_at']:%Y-%m-%d}")
    return f"Artefact pruned on {on}; it can no longer forecast."


def by_training(models: pd.DataFrame) -> pd.DataFrame:
    """MAPE of each model and of the seasonal naive on the same days, oldest first.

    Returns:
      day_on (trained through), version, forecaster ('forecast', 'seasonal naive'), mape
      (a fraction); models without scores are left out.
    """
    rows = [
        (row["trained_through"], row["version"], name, _score(scores, key) / 100)
        for row in models.to_dict("records")
        for scores in [row["scores"].get("models") or {}]
        for key, name in ((OWN, "forecast"), ("seasonal_naive", "seasonal naive"))
    ]
    columns = ["day_on", "version", "forecaster", "mape"]
    return pd.DataFrame(rows, columns=columns).dropna().sort_values("day_on")


def way_back(models: pd.DataFrame) -> str | None:
    """The model that going back would make champion; None where there is none."""
    retired = models[models["role"] == "retired"]
    retired = retired.sort_values("promoted_at", ascending=False, na_position="last")
    return None if retired.empty else str(retired["version"].iloc[0])


def _name(key: str) -> str:
    return NAMES.get(key, formatting.kind(key))


def _numbers(of: Mapping[str, Any], score: str) -> pd.Series:
    values = [each.get(score) for each in of.values()]
    return pd.Series(values, dtype=object).astype("float64")


def _score(of: Mapping[str, Any], name: str) -> float:
    value = (of.get(name) or {}).get("mape")
    return float("nan") if value is None else float(value)
