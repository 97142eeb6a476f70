"""How far off forecasts were, for people. No I/O."""

from typing import Any

import pandas as pd

from dashboard.text import formatting

BASELINES = ("seasonal naive", "median of 4")
COLUMNS = {
    "day": "day_on",
    "city": "city",
    "model": "model_version",
    "horizon": "horizon",
    "weekday": "weekday",
}


def of_grain(scores: pd.DataFrame, grain: str) -> pd.DataFrame:
    """The rows of one grain."""
    return scores[scores["grain"] == grain]


def by(scores: pd.DataFrame, grain: str, heading: str) -> pd.DataFrame:
    """One grain of `queries.accuracy`: a row per heading, baselines' MAPE beside.

    Args:
      scores: All grains.
      grain: 'day', 'city', 'model', 'horizon' or 'weekday'.
      heading: Of the column that names the row.
    """
    own = scores[scores["grain"] == grain]
    own = own.assign(name=own[COLUMNS[grain]].map(NAMED.get(grain, _itself)))
    own = own.set_index("name")
    said = own[own["forecaster"] == "forecast"]
    of = {name: own[own["forecaster"] == name]["mape"] for name in BASELINES}
    table = pd.DataFrame(
        {
            "MAPE": 100 * said["mape"],
            "Naive MAPE": 100 * of["seasonal naive"],
            "Median MAPE": 100 * of["median of 4"],
            "WAPE": 100 * said["wape"],
            "Bias": 100 * said["bias"],
            "In band": 100 * said["coverage"],
            "Days": said["counted"],
        }
    )
    return table.rename_axis(heading).reset_index()


def depots(found: pd.DataFrame) -> pd.DataFrame:
    """`queries.depot_accuracy`, for people; gains are over the seasonal naive."""
    return pd.DataFrame(
        {
            "Depot": found["name"],
            "City": found["city"],
            "MAPE": 100 * found["mape"],
            "Naive MAPE": 100 * found["naive_mape"],
            "Bias": 100 * found["bias"],
            "In band": 100 * found["coverage"],
            "Days": found["counted"],
            "Fallback": found["is_gated"].map({True: "on", False: ""}),
        }
    )


def worst_days(found: pd.DataFrame) -> pd.DataFrame:
    """`queries.worst_days`, for people."""
    noted = formatting.remarks(found.assign(is_closed=False))
    rows = zip(found.to_dict("records"), noted, strict=True)
    return pd.DataFrame(
        {
            "Day": found["target_on"],
            "Depot": found["name"],
            "Forecast": found["p50"].round().astype("Int64"),
            "Actual": found["actual"].round().astype("Int64"),
            "Forecast − actual": (found["p50"] - found["actual"])
            .round()
            .astype("Int64"),
            "Likely cause": [_cause(row, said) for row, said in rows],
        }
    )


def overrides(found: pd.DataFrame) -> pd.DataFrame:
    """`queries.value_of_overrides`, for people."""
    return pd.DataFrame(
        {
            "Reason": found["reason"].fillna("All overrides"),
            "Naive MAPE": 100 * found["naive_mape"],
            "Forecast MAPE": 100 * found["forecast_mape"],
            "Override MAPE": 100 * found["override_mape"],
            "Days": found["counted"],
        }
    )


def overrides_sentence(found: pd.DataFrame) -> str:
    """Whether the planners' changes were worth it, in words.

    Args:
      found: As `queries.value_of_overrides` returns it, not empty.
    """
    whole = found.to_dict("records")[0]
    gain = whole["forecast_mape"] - whole["override_mape"]
    verdict = "better" if gain > 0 else "worse" if gain < 0 else "as good"
    return (
        f"Over {formatting.count(int(whole['counted']), 'day')} with overrides, the overrides' "
        f"MAPE was {formatting.percent(whole['override_mape'])} and the forecast's "
        f"{formatting.percent(whole['forecast_mape'])}: {verdict}."
    )


def _cause(row: dict[Any, Any], said: list[str]) -> str:
    if said:
        return ", ".join(said)
    if row["basis"] == "cold_start":
        return "No history"
    if row["p10"] <= row["actual"] <= row["p90"]:
        return "Chance: within the 80 % band"
    return "No known cause"


def _itself(value: Any) -> Any:
    return value


def _ahead(days: int) -> str:
    return formatting.count(int(days), "day")


def _weekday(number: int) -> str:
    return formatting.WEEKDAYS[int(number) - 1]


NAMED = {"horizon": _ahead, "weekday": _weekday}
