"""Runs as display tables; no I/O."""

from collections.abc import Callable, Hashable, Mapping
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from dashboard.text import formatting
from pipelines.schema.run_metrics import describe

STATES = {
    "running": "… running",
    "done": "✓ done",
    "failed": "✕ failed",
    "skipped": "– skipped",
}
REPAIRED = "Repaired: another run of this night made its forecast."


def status_line(runs: pd.DataFrame, zone: ZoneInfo) -> str:
    """Summarises the newest nightly run in one line; '' before the first.

    'Forecast ready Fri 21 Nov, 04:41 · data complete · tonight's model promoted'.
    """
    parents = parent_runs(runs)
    nights = parents[parents["step"] == "nightly"].to_dict("records")
    if not nights:
        return ""
    night = nights[0]
    own = runs[runs["parent_id"] == night["run_id"]].to_dict("records")
    parts = [_forecast_status(night, own, zone)]
    late = night["metrics"].get("late_depots", 0)
    if night["state"] == "done":
        missing = f"data of {formatting.count(late, 'depot')} missing"
        parts.append(missing if late else "data complete")
    promoted = [
        row["metrics"].get("promoted") for row in own if row["step"] == "promote"
    ]
    if promoted and promoted[0] is not None:
        parts.append("tonight's model promoted" if promoted[0] else "champion kept")
    failed = [_step(row).lower() for row in own if row["state"] == "failed"]
    if failed:
        parts.append(f"failed: {', '.join(failed)}")
    return " · ".join(parts)


def _forecast_status(
    night: Mapping[Any, Any], own: list[dict[Hashable, Any]], zone: ZoneInfo
) -> str:
    if night["state"] == "running":
        return f"Nightly run under way since {formatting.timestamp(night['started_at'], zone)}"
    for row in own:
        if row["step"] == "forecast" and row["state"] == "done":
            ready = row["started_at"] + timedelta(seconds=row["seconds"])
            return f"Forecast ready {formatting.timestamp(ready, zone)}"
    return f"No new forecast from the night of {_origin(night)}"


def runs_table(runs: pd.DataFrame, zone: ZoneInfo, *, nightly: bool) -> pd.DataFrame:
    """Display table of the nightly runs, or of the others, of `queries.runs`."""
    parents = parent_runs(runs)
    is_nightly = parents["step"] == "nightly"
    if not nightly:
        return _table(parents[~is_nightly], zone, "Run", _step)
    nights = parents[is_nightly]
    is_done = nights["state"] == "done"
    is_made = nights["origin_on"].isin(nights.loc[is_done, "origin_on"])
    errors = nights["error"].mask(is_made & ~is_done, REPAIRED)
    forecasts = runs[runs["step"] == "forecast"].set_index("parent_id")["metrics"]
    late = [
        _late(row, forecasts.get(row["run_id"], {}).get("late_cities", {}), zone)
        for row in nights.to_dict("records")
    ]
    return _table(nights.assign(error=errors, late=late), zone, "Night of", _origin)


def _late(night: Mapping[Any, Any], cities: Mapping[str, int], zone: ZoneInfo) -> str:
    """'Late: London, 8 depots; came on Sun 22 Nov. '; '' where no city was late."""
    if not cities:
        return ""
    depots = [f"{city}, {formatting.count(n, 'depot')}" for city, n in cities.items()]
    came = ""
    if not pd.isna(night["late_came_at"]):
        came = f"; came on {formatting.day(night['late_came_at'].astimezone(zone))}"
    return f"Late: {'; '.join(depots)}{came}. "


def steps(runs: pd.DataFrame, run_id: int, zone: ZoneInfo) -> pd.DataFrame:
    """Display table of the steps of one run, in order."""
    return _table(runs[runs["parent_id"] == run_id], zone, "Step", _step)


def parent_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs that are not a step of another run."""
    return runs[runs["parent_id"].isna()]


def labels(runs: pd.DataFrame) -> dict[str, str]:
    """Labels of the parent runs for the select box, by run id; nightly runs first."""
    parents = parent_runs(runs)
    parents = parents.sort_values(
        ["step", "run_id"],
        key=lambda column: column != "nightly" if column.name == "step" else -column,
    )
    return {
        str(row["run_id"]): f"{_step(row)} · {_origin(row)} · run {row['run_id']}"
        for row in parents.to_dict("records")
    }


def duration(seconds: float) -> str:
    """'12 s', '3 min 5 s', '2 h 4 min'; a dash where unknown."""
    if pd.isna(seconds):
        return formatting.UNKNOWN
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {left} s"


def _table(
    rows: pd.DataFrame,
    zone: ZoneInfo,
    heading: str,
    name_row: Callable[[Mapping[Any, Any]], str],
) -> pd.DataFrame:
    records = rows.to_dict("records")
    return pd.DataFrame(
        {
            heading: [name_row(row) for row in records],
            "State": [STATES[row["state"]] for row in records],
            "Started": [
                formatting.timestamp(row["started_at"], zone) for row in records
            ],
            "Duration": [duration(row["seconds"]) for row in records],
            "Result": [formatting.format_dates(_result(row), zone) for row in records],
        }
    )


def _result(row: Mapping[Any, Any]) -> str:
    if isinstance(row["error"], str):
        return row["error"]
    metrics = dict(row["metrics"])
    if row.get("late"):
        metrics.pop("late_depots", None)
    if isinstance(metrics.get("model"), str):
        metrics["model"] = formatting.short_version(metrics["model"])
    return row.get("late", "") + formatting.with_naive_name(describe(metrics))


def _origin(row: Mapping[Any, Any]) -> str:
    if pd.isna(row["origin_on"]):
        return formatting.UNKNOWN
    return formatting.day(row["origin_on"])


def _step(row: Mapping[Any, Any]) -> str:
    return formatting.display_name(row["step"])
