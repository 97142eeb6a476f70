"""The table behind each chart, with the headings people read; a CSV of the same.

Whole numbers are orders or counts; floats are percentages.
"""

import pandas as pd

from dashboard.text import formatting


def fleet_week(depots: pd.DataFrame) -> pd.DataFrame:
    """`attention.ranked`, for people."""
    return pd.DataFrame(
        {
            "City": depots["city"],
            "Depot": depots["name"],
            "Depot id": depots["depot_id"],
            "Vans": _whole(depots["vans"]),
            "Day": depots["target_on"],
            "Forecast": _whole(depots["p50"]),
            "Low (P10)": _whole(depots["p10"]),
            "High (P90)": _whole(depots["p90"]),
            "Basis": depots["basis"].map(formatting.BASES),
            "Last week": _whole(depots["week_before"]),
            "Previous forecast": _whole(depots["p50_before"]),
        }
    )


def daily_totals(totals: pd.DataFrame) -> pd.DataFrame:
    """`queries.daily_totals`, for people."""
    return pd.DataFrame(
        {
            "Day": totals["day_on"],
            "Actual": _whole(totals["actual"]),
            "Forecast": _whole(totals["p50"]),
            "Low (P10)": _whole(totals["p10"]),
            "High (P90)": _whole(totals["p90"]),
            "Remark": [formatting.missing(number) for number in totals["missing"]],
        }
    )


def depot_days(days: pd.DataFrame) -> pd.DataFrame:
    """`queries.depot_days`, for people."""
    return pd.DataFrame(
        {
            "Day": days["day_on"],
            "Actual": _whole(days["actual"]),
            "Forecast": _whole(days["p50"]),
            "Low (P10)": _whole(days["p10"]),
            "High (P90)": _whole(days["p90"]),
            "Basis": days["basis"].map(formatting.BASES),
            "Events": [", ".join(day) for day in formatting.remarks(days)],
        }
    )


def past_forecasts(past: pd.DataFrame) -> pd.DataFrame:
    """`queries.past_forecasts`, for people; newest day first."""
    error = past["p50"] - past["actual"]
    inside = past["actual"].between(past["p10"], past["p90"])
    return pd.DataFrame(
        {
            "Day": past["target_on"],
            "Forecast": _whole(past["p50"]),
            "Actual": _whole(past["actual"]),
            "Forecast − actual": _whole(error),
            "Absolute % error": 100
            * error.abs()
            / past["actual"].where(past["actual"] > 0),
            "In band": inside.map({True: "yes", False: "no"}),
            "Origin": past["origin_on"],
            "Model": past["model_version"],
        }
    ).iloc[::-1]


def events(events: pd.DataFrame) -> pd.DataFrame:
    """`queries.events_ahead`, for people."""
    kinds = events["what"].map(formatting.kind)
    return pd.DataFrame(
        {
            "From": events["starts_on"],
            "To": events["ends_on"],
            "Event": events["what"].where(events["is_holiday"], kinds),
            "Scope": events["scope"],
        }
    )


def what_if(outcome: pd.DataFrame) -> pd.DataFrame:
    """`whatif.suppose`, for people."""
    return pd.DataFrame(
        {
            "Day": outcome["target_on"],
            "Forecast": _whole(outcome["forecast"]),
            "Scenario": _whole(outcome["supposed"]),
            "Difference": _whole(outcome["supposed"] - outcome["forecast"]),
            "Low (P10)": _whole(outcome["supposed_p10"]),
            "High (P90)": _whole(outcome["supposed_p90"]),
        }
    )


def leaning(parts: pd.DataFrame) -> pd.DataFrame:
    """`leaning.parts`, for people."""
    return pd.DataFrame(
        {
            "Day": parts["target_on"],
            "Usual day": _whole(parts["level"]),
            "Weekday": _whole(parts["weekday"]),
            "Holiday": _whole(parts["holiday"]),
            "Events": _whole(parts["events"]),
            "Forecast": _whole(parts["forecast"]),
        }
    )


def by_training(trained: pd.DataFrame) -> pd.DataFrame:
    """`backtests.by_training`, for people."""
    return pd.DataFrame(
        {
            "Model": trained["version"],
            "Trained through": trained["day_on"],
            "Forecaster": trained["forecaster"],
            "MAPE": 100 * trained["mape"],
        }
    )


def _whole(numbers: pd.Series) -> pd.Series:
    """Whole numbers, missing where not known."""
    return numbers.round().astype("Int64")
