"""Display tables of query results, also downloaded as CSV.

Whole numbers are orders or counts; floats are percentages. No I/O.
"""

from collections.abc import Callable, Hashable, Mapping
from pathlib import PurePosixPath
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from dashboard.planning import overrides
from dashboard.text import formatting
from pipelines.schema.spreadsheet_cells import safe_cell

HEADINGS = {
    "absolute_error": "Absolute % error",
    "accepted": "New rows",
    "allocated": "Vans",
    "counted": "Days",
    "coverage": "In the 80 % band",
    "day_on": "Day",
    "ends_on": "To",
    "error": "Forecast − actual",
    "delivery_probability": "Chance of full delivery",
    "forecast_mape": "Forecast MAPE",
    "model_point": "Model",
    "last_on": "Data to",
    "level": "Usual day",
    "made_by": "Changed by",
    "mape": "MAPE",
    "median_mape": "Median MAPE",
    "model_version": "Model",
    "naive_mape": "Naive MAPE",
    "name": "Depot",
    "needed": "Vans needed",
    "needed_pooled": "Vans needed",
    "origin_on": "Origin",
    "override_mape": "Override MAPE",
    "p10": "Low (P10)",
    "override_reason": "Reason",
    "point": "Forecast",
    "point_before": "Previous forecast",
    "p90": "High (P90)",
    "rejected": "Rejected rows",
    "starts_on": "From",
    "target_on": "Day",
    "unchanged": "Unchanged rows",
    "wape": "WAPE",
    "week_before": "Last week",
}
"""Headings of columns whose name is not one itself."""
FRACTIONS = {
    "absolute_error", "bias", "delivery_probability", "coverage", "forecast_mape", "mape", "median_mape",
    "naive_mape", "override_mape", "value_added", "wape",
}  # fmt: skip
ROW_NAMES: dict[str, Callable[[float], str]] = {
    "horizon": lambda number: formatting.count(int(number), "day"),
    "weekday": lambda number: formatting.WEEKDAYS[int(number) - 1],
}
NAIVE_FORECASTS = {"naive_mape": "seasonal naive", "median_mape": "median of 4"}


def display(result: pd.DataFrame, *columns: str, **renamed: str) -> pd.DataFrame:
    """Columns of a query result under their headings, in the order given.

    Fractions become percentages, other floats whole numbers, missing where unknown. `renamed`
    are headings other than those of `HEADINGS`.
    """
    headings = HEADINGS | renamed
    return pd.DataFrame(
        {
            headings.get(name, formatting.display_name(name)): _displayed(result[name])
            for name in columns
        }
    )


def _displayed(values: pd.Series) -> pd.Series:
    if values.name in FRACTIONS:
        return 100 * values
    if values.name == "basis":
        return values.map(formatting.BASES)
    if pd.api.types.is_float_dtype(values):
        return values.round().astype("Int64")
    return values


def fleet_week(depots: pd.DataFrame) -> pd.DataFrame:
    """Display table of `ranking.rank`."""
    return display(
        depots, "city", "name", "depot_id", "vans", "target_on", "point", "model_point", "p10",
        "p90", "basis", "week_before", "point_before", "override_reason", "made_by", point="Planned",
    )  # fmt: skip


def daily_totals(totals: pd.DataFrame) -> pd.DataFrame:
    """Display table of `queries.daily_totals`."""
    remarks = totals["missing"].map(formatting.without_depots)
    return display(
        totals.assign(Remark=remarks), "day_on", "actual", "point", "model_point", "p10",
        "p90", "notes", "Remark", point="Planned", notes="Events",
    )  # fmt: skip


def depot_days(days: pd.DataFrame) -> pd.DataFrame:
    """Display table of `queries.depot_days`."""
    notes = [", ".join(day) for day in formatting.day_notes(days)]
    return display(
        days.assign(events=notes),
        "day_on", "actual", "point", "model_point", "p10", "p90", "basis", "events",
        "override_reason", "made_by", point="Planned",
    )  # fmt: skip


def past_forecasts(past: pd.DataFrame) -> pd.DataFrame:
    """Display table of `queries.past_forecasts`; newest day first."""
    error = past["point"] - past["actual"]
    inside = past["actual"].between(past["p10"], past["p90"])
    return display(
        past.assign(
            error=error,
            absolute_error=error.abs() / past["actual"].where(past["actual"] > 0),
            inside=inside.map({True: "yes", False: "no"}),
        ).iloc[::-1],
        "target_on", "point", "actual", "error", "absolute_error", "inside", "origin_on",
        "model_version", inside="In the 80 % band",
    )  # fmt: skip


def events(events: pd.DataFrame) -> pd.DataFrame:
    """Display table of `queries.events_ahead`."""
    names = map(formatting.occasion_name, events["what"], events["is_holiday"])
    return display(
        events.assign(Event=list(names)), "starts_on", "ends_on", "Event", "scope"
    )


def what_if(outcome: pd.DataFrame) -> pd.DataFrame:
    """Display table of `what_if.simulate`."""
    difference = outcome["scenario"] - outcome["forecast"]
    return display(
        outcome.assign(difference=difference), "target_on", "forecast", "scenario",
        "difference", "scenario_p10", "scenario_p90",
        scenario_p10=HEADINGS["p10"], scenario_p90=HEADINGS["p90"],
    )  # fmt: skip


def contributions(parts: pd.DataFrame) -> pd.DataFrame:
    """Display table of `what_if.contributions`; no column of signals where the model uses none."""
    columns = [
        "target_on",
        "level",
        "weekday",
        "signals",
        "holiday",
        "events",
        "forecast",
    ]
    return display(parts, *(name for name in columns if parts[name].notna().any()))


def accuracy(scores: pd.DataFrame, grain: str, heading: str) -> pd.DataFrame:
    """One grain of `queries.accuracy`, the naive forecasts' MAPE beside; `heading` is of its name."""
    column = {"day": "day_on", "model": "model_version"}.get(grain, grain)
    rows = scores[scores["grain"] == grain].set_index(column)
    model = rows[rows["forecaster"] == "forecast"]
    table = model.assign(
        **{
            name: rows[rows["forecaster"] == label]["mape"]
            for name, label in NAIVE_FORECASTS.items()
        }
    ).reset_index()
    if grain in ROW_NAMES:
        table[column] = table[column].map(ROW_NAMES[grain])
    return display(
        table.rename(columns={column: heading}), heading, "mape", "naive_mape",
        "median_mape", "wape", "bias", "coverage", "counted",
    )  # fmt: skip


def depot_accuracy(result: pd.DataFrame) -> pd.DataFrame:
    """Display table of `queries.depot_accuracy`."""
    return display(
        result,
        "name", "city", "value_added", "mape", "naive_mape", "bias", "coverage", "counted",
    )  # fmt: skip


def depot_links(result: pd.DataFrame) -> list[str]:
    """Addresses of the depots of a query result."""
    return [formatting.link("depot", depot=depot) for depot in result["depot_id"]]


def largest_errors(result: pd.DataFrame) -> pd.DataFrame:
    """Display table of `queries.largest_errors`."""
    notes = formatting.day_notes(result.assign(is_closed=False))
    rows = zip(result.to_dict("records"), notes, strict=True)
    return display(
        result.assign(
            error=result["point"] - result["actual"],
            cause=[_likely_cause(row, day) for row, day in rows],
        ),
        "target_on", "name", "point", "override_orders", "actual", "error", "cause",
        override_orders="Override", cause="Likely cause",
    )  # fmt: skip


def override_accuracy(result: pd.DataFrame) -> pd.DataFrame:
    """Display table of `queries.override_accuracy`."""
    return display(
        result.assign(reason=result["reason"].fillna("All overrides")),
        "reason", "naive_mape", "forecast_mape", "override_mape", "counted",
    )  # fmt: skip


def plan(plan: pd.DataFrame) -> pd.DataFrame:
    """Display table of `planning.make_plan`."""
    return display(
        plan,
        "city", "name", "depot_id", "target_on", "point", "model_point", "vans", "allocated",
        "needed", "drivers", "undelivered", "delivery_probability", "override_reason",
        "made_by", point="Planned", vans="Own vans", allocated="Vans assigned",
    )  # fmt: skip


def city_plan(days: pd.DataFrame) -> pd.DataFrame:
    """Display table of `planning.by_city`."""
    return display(
        days, "city", "target_on", "point", "model_point", "vans", "needed_pooled", "short",
        "drivers", "undelivered", "delivery_probability", point="Planned", vans="Vans",
        short="Vans short",
    )  # fmt: skip


def change_preview(preview: pd.DataFrame) -> pd.DataFrame:
    """Display table of `edits.preview`."""
    return display(
        preview, "target_on", "orders_before", "orders_after", "vans_before", "vans_after",
        orders_before="Orders now", orders_after="New", vans_before="Vans now",
        vans_after="New vans",
    )  # fmt: skip


def override_history(result: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """Display table of `queries.override_history`; times in `zone`."""
    return display(
        result.assign(
            When=[formatting.timestamp(at, zone) for at in result["made_at"]],
            Action=[overrides.description(row) for row in result.to_dict("records")],
        ),
        "When", "name", "target_on", "Action", "orders", "point", "reason", "made_by",
        point="Forecast at override",
    )  # fmt: skip


def loaded_files(result: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """Display table of the files of `queries.files` that were loaded."""
    files = _named_files(result[result["refused_because"].isna()], zone)
    return display(
        files.assign(ignored=files["ignored_columns"].map(", ".join)),
        "File", "kind", "came", "accepted", "unchanged", "rejected", "ignored",
        came="Loaded", ignored="Ignored columns",
    )  # fmt: skip


def refused_files(result: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """Display table of the files of `queries.files` that were refused."""
    files = _named_files(result[result["refused_because"].notna()], zone)
    return display(
        files, "File", "came", "refused_because",
        came="Refused", refused_because="Reason and fix",
    )  # fmt: skip


def _named_files(files: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    timestamps = [formatting.timestamp(at, zone) for at in files["came_at"]]
    return files.assign(File=files["path"].map(_file_name), came=timestamps)


def rejected_rows(result: pd.DataFrame) -> pd.DataFrame:
    """Display table of `queries.rejected_rows`."""
    return display(
        result.assign(File=result["path"].map(_file_name)),
        "File", "reason", "n_rows", "first_line", "column_name", "value",
        n_rows="Rows", first_line="First line", column_name="Column", value="Value",
    )  # fmt: skip


def calendar(result: pd.DataFrame, days: list[pd.Timestamp]) -> pd.DataFrame:
    """`queries.calendar` with a column per day."""
    columns = [formatting.day(day) for day in days]
    states = pd.DataFrame(result["states"].tolist(), result.index, columns)
    named = display(result, "name", "depot_id", "city", "last_on", "missing")
    return named.join(states)


def csv(table: pd.DataFrame) -> bytes:
    """A table as a CSV that no spreadsheet executes; days become ISO dates."""
    plain = table.copy()
    for name in plain.select_dtypes("datetime"):
        plain[name] = plain[name].dt.strftime("%Y-%m-%d")
    safe = plain.map(safe_cell)
    safe.columns = [safe_cell(name) for name in plain.columns]
    return safe.to_csv(index=False, lineterminator="\n").encode("utf-8-sig")


def _likely_cause(row: Mapping[Hashable, Any], notes: list[str]) -> str:
    if not pd.isna(row["override_orders"]):
        reason = formatting.quoted(row["override_reason"])
        notes = [f"{row['made_by']}: {reason}", *notes]
    if notes:
        return ", ".join(notes)
    if row["basis"] == "cold_start":
        return "No history"
    if row["p10"] <= row["actual"] <= row["p90"]:
        return "Chance: within the 80 % band"
    return "No known cause"


def _file_name(path: str) -> str:
    return PurePosixPath(path).name or path
