"""Display tables of the charts' data, also downloaded as CSV.

Whole numbers are orders or counts; floats are percentages.
"""

import pandas as pd

from dashboard.text import formatting


def fleet_week(depots: pd.DataFrame) -> pd.DataFrame:
    """Display table of `ranking.rank`."""
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
    """Display table of `queries.daily_totals`."""
    return pd.DataFrame(
        {
            "Day": totals["day_on"],
            "Actual": _whole(totals["actual"]),
            "Forecast": _whole(totals["p50"]),
            "Low (P10)": _whole(totals["p10"]),
            "High (P90)": _whole(totals["p90"]),
            "Remark": [
                formatting.missing_depots(number) for number in totals["missing"]
            ],
        }
    )


def depot_days(days: pd.DataFrame) -> pd.DataFrame:
    """Display table of `queries.depot_days`."""
    return pd.DataFrame(
        {
            "Day": days["day_on"],
            "Actual": _whole(days["actual"]),
            "Forecast": _whole(days["p50"]),
            "Low (P10)": _whole(days["p10"]),
            "High (P90)": _whole(days["p90"]),
            "Basis": days["basis"].map(formatting.BASES),
            "Events": [", ".join(day) for day in formatting.day_notes(days)],
        }
    )


def past_forecasts(past: pd.DataFrame) -> pd.DataFrame:
    """Display table of `queries.past_forecasts`; newest day first."""
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
    """Display table of `queries.events_ahead`."""
    kinds = events["what"].map(formatting.event_name)
    return pd.DataFrame(
        {
            "From": events["starts_on"],
            "To": events["ends_on"],
            "Event": events["what"].where(events["is_holiday"], kinds),
            "Scope": events["scope"],
        }
    )


def what_if(outcome: pd.DataFrame) -> pd.DataFrame:
    """Display table of `whatif.simulate`."""
    return pd.DataFrame(
        {
            "Day": outcome["target_on"],
            "Forecast": _whole(outcome["forecast"]),
            "Scenario": _whole(outcome["scenario"]),
            "Difference": _whole(outcome["scenario"] - outcome["forecast"]),
            "Low (P10)": _whole(outcome["scenario_p10"]),
            "High (P90)": _whole(outcome["scenario_p90"]),
        }
    )


def drivers(parts: pd.DataFrame) -> pd.DataFrame:
    """Display table of `decomposition.drivers`."""
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
    """Display table of `backtests.by_training`."""
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
