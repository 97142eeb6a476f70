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


def other_runs(runs: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """Display table of the runs of `queries.runs` that are no nights."""
    parents = parent_runs(runs)
    return _table(parents[parents["step"] != "nightly"], zone, "Run", _step)


def nights(runs: pd.DataFrame, late: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """Display table of the nightly runs of `queries.runs`.

    Args:
      runs: From `queries.runs`.
      late: From `queries.late_depots`.
      zone: Of the times.
    """
    parents = parent_runs(runs)
    nights = parents[parents["step"] == "nightly"]
    is_done = nights["state"] == "done"
    is_made = nights["origin_on"].isin(nights.loc[is_done, "origin_on"])
    errors = nights["error"].mask(is_made & ~is_done, REPAIRED)
    sentences: dict[int, str] = {}
    for row in late.to_dict("records"):
        before = sentences.get(row["run_id"], "")
        sentences[row["run_id"]] = f"{before} {_late_city(row, zone)}".lstrip()
    told = [sentences.get(run_id, "") for run_id in nights["run_id"]]
    return _table(nights.assign(error=errors, late=told), zone, "Night of", _origin)


def _late_city(row: Mapping[Any, Any], zone: ZoneInfo) -> str:
    """'Late: London, 8 depots; came on Sun 22 Nov.', from `queries.late_depots`."""
    late = f"Late: {row['city']}, {formatting.count(row['late'], 'depot')}"
    if not row["came"]:
        return f"{late}."
    came_on = formatting.day(row["came_at"].astimezone(zone))
    if row["came"] < row["late"]:
        return f"{late}; {row['came']} came by {came_on}."
    return f"{late}; came on {came_on}."


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
    late = row.get("late", "")
    if late:
        metrics.pop("late_depots", None)
    if isinstance(metrics.get("model"), str):
        metrics["model"] = formatting.short_version(metrics["model"])
    rest = formatting.with_naive_name(describe(metrics))
    return f"{late} {rest}".strip()


def _origin(row: Mapping[Any, Any]) -> str:
    if pd.isna(row["origin_on"]):
        return formatting.UNKNOWN
    return formatting.day(row["origin_on"])


def _step(row: Mapping[Any, Any]) -> str:
    return formatting.display_name(row["step"])
