"""Display tables of forecast accuracy; no I/O."""

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


def rows_of_grain(scores: pd.DataFrame, grain: str) -> pd.DataFrame:
    """The rows of one grain."""
    return scores[scores["grain"] == grain]


def by_grain(scores: pd.DataFrame, grain: str, heading: str) -> pd.DataFrame:
    """One grain of `queries.accuracy`: a row per heading, baselines' MAPE beside.

    Args:
      scores: All grains.
      grain: 'day', 'city', 'model', 'horizon' or 'weekday'.
      heading: Of the column that names the row.
    """
    own = scores[scores["grain"] == grain]
    own = own.assign(name=own[COLUMNS[grain]].map(NAMED.get(grain, _itself)))
    own = own.set_index("name")
    model = own[own["forecaster"] == "forecast"]
    of = {name: own[own["forecaster"] == name]["mape"] for name in BASELINES}
    table = pd.DataFrame(
        {
            "MAPE": 100 * model["mape"],
            "Naive MAPE": 100 * of["seasonal naive"],
            "Median MAPE": 100 * of["median of 4"],
            "WAPE": 100 * model["wape"],
            "Bias": 100 * model["bias"],
            "In band": 100 * model["coverage"],
            "Days": model["counted"],
        }
    )
    return table.rename_axis(heading).reset_index()


def depots(result: pd.DataFrame) -> pd.DataFrame:
    """Display table of `queries.depot_accuracy`; gains are over the seasonal naive."""
    return pd.DataFrame(
        {
            "Depot": result["name"],
            "City": result["city"],
            "MAPE": 100 * result["mape"],
            "Naive MAPE": 100 * result["naive_mape"],
            "Bias": 100 * result["bias"],
            "In band": 100 * result["coverage"],
            "Days": result["counted"],
            "Fallback": result["is_fallback"].map({True: "on", False: ""}),
        }
    )


def largest_errors(result: pd.DataFrame) -> pd.DataFrame:
    """Display table of `queries.largest_errors`."""
    noted = formatting.day_notes(result.assign(is_closed=False))
    rows = zip(result.to_dict("records"), noted, strict=True)
    return pd.DataFrame(
        {
            "Day": result["target_on"],
            "Depot": result["name"],
            "Forecast": result["p50"].round().astype("Int64"),
            "Actual": result["actual"].round().astype("Int64"),
            "Forecast − actual": (result["p50"] - result["actual"])
            .round()
            .astype("Int64"),
            "Likely cause": [_cause(row, notes) for row, notes in rows],
        }
    )


def overrides(result: pd.DataFrame) -> pd.DataFrame:
    """Display table of `queries.override_accuracy`."""
    return pd.DataFrame(
        {
            "Reason": result["reason"].fillna("All overrides"),
            "Naive MAPE": 100 * result["naive_mape"],
            "Forecast MAPE": 100 * result["forecast_mape"],
            "Override MAPE": 100 * result["override_mape"],
            "Days": result["counted"],
        }
    )


def overrides_sentence(result: pd.DataFrame) -> str:
    """Whether the planners' changes were worth it, in words.

    Args:
      result: As `queries.override_accuracy` returns it, not empty.
    """
    whole = result.to_dict("records")[0]
    gain = whole["forecast_mape"] - whole["override_mape"]
    verdict = "better" if gain > 0 else "worse" if gain < 0 else "as good"
    return (
        f"Over {formatting.count(int(whole['counted']), 'day')} with overrides, the overrides' "
        f"MAPE was {formatting.percent(whole['override_mape'])} and the forecast's "
        f"{formatting.percent(whole['forecast_mape'])}: {verdict}."
    )


def _cause(row: dict[Any, Any], notes: list[str]) -> str:
    if notes:
        return ", ".join(notes)
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
