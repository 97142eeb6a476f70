"""What the ledger says of runs and backfills → tables for people. No I/O."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from dashboard.text import formatting

STATES = {"done": "✓ done", "failed": "✕ failed", "skipped": "– skipped"}
SHARES = {"mape", "naive_mape", "coverage"}
# Said beside it already, or of no use to who reads the page.
LEFT_OUT = {"origin", "by_run", "gated_depots", "cache_hits", "cache_misses", "steps"}
LEFT_OUT |= {"compilations", "parity_error", "state"}
NUMBERS_OF = {"plan"}
"""What is numbered, not counted."""
MEASURED = ("_seconds", "_bytes")
"""How the names of measurements end: `harbor runs show` tells them to engineers."""
SILENT_S = 120
"""Seconds without a sign of life after which a run has probably been killed."""


def nights(runs: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """The nightly runs of `queries.runs`, for people.

    Args:
      runs: With their steps.
      zone: In which times are told.
    """
    wholes = of_wholes(runs)
    return _table(wholes[wholes["step"] == "nightly"], zone, "Night of", _origin)


def others(runs: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """The other runs of `queries.runs`, for people."""
    wholes = of_wholes(runs)
    return _table(wholes[wholes["step"] != "nightly"], zone, "Run", _step)


def steps(runs: pd.DataFrame, run_id: int, zone: ZoneInfo) -> pd.DataFrame:
    """The steps of one run, in their order."""
    return _table(runs[runs["parent_id"] == run_id], zone, "Step", _step)


def of_wholes(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs that are no step of another."""
    return runs[runs["parent_id"].isna()]


def labels(runs: pd.DataFrame) -> dict[str, str]:
    """Every whole by its id, as it is offered for choice; nights come first."""
    wholes = of_wholes(runs)
    wholes = wholes.sort_values(
        ["step", "run_id"],
        key=lambda column: column != "nightly" if column.name == "step" else -column,
    )
    return {
        str(row["run_id"]): f"{_step(row)} · {_origin(row)} · run {row['run_id']}"
        for row in wholes.to_dict("records")
    }


def counted(metrics: Mapping[str, Any]) -> str:
    """What a run counted, in words."""
    # Sentences come last: nothing goes on after a full stop.
    in_order = sorted(metrics.items(), key=lambda count: count[0] == "reason")
    told = [_count(name, value) for name, value in in_order]
    return ", ".join(part for part in told if part)


def took(seconds: float) -> str:
    """'12 s', '3 min 5 s', '2 h 4 min'; a dash where not known."""
    if pd.isna(seconds):
        return formatting.UNKNOWN
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {left} s"


def plans(found: pd.DataFrame) -> pd.DataFrame:
    """`queries.plans`, for people."""
    days = zip(found["first_on"], found["last_on"], strict=True)
    return pd.DataFrame(
        {
            "Plan": found["backfill_id"].astype(str),
            "Days": [
                f"{formatting.iso_day(a)} – {formatting.iso_day(b)}" for a, b in days
            ],
            "State": found["state"],
            "Progress": [_progress(row) for row in found.to_dict("records")],
            "Details": [_plan_says(row) for row in found.to_dict("records")],
        }
    )


def _table(
    rows: pd.DataFrame, zone: ZoneInfo, heading: str, named: Any
) -> pd.DataFrame:
    records = rows.to_dict("records")
    return pd.DataFrame(
        {
            heading: [named(row) for row in records],
            "State": [_state(row) for row in records],
            "Started": [formatting.moment(row["started_at"], zone) for row in records],
            "Duration": [took(row["seconds"]) for row in records],
            "Result": [formatting.dated(_says(row), zone) for row in records],
        }
    )


def _says(row: Mapping[Any, Any]) -> str:
    failed = isinstance(row["error"], str)
    return row["error"] if failed else counted(row["metrics"])


def _state(row: Mapping[Any, Any]) -> str:
    if row["state"] != "running":
        return STATES[row["state"]]
    silent = row["silent_seconds"]
    return f"no heartbeat for {took(silent)}" if silent > SILENT_S else "… running"


def _origin(row: Mapping[Any, Any]) -> str:
    if pd.isna(row["origin_on"]):
        return formatting.UNKNOWN
    return formatting.day(row["origin_on"])


def _step(row: Mapping[Any, Any]) -> str:
    return formatting.kind(row["step"])


def _count(name: str, value: Any) -> str:
    said = name.replace("_", " ")
    if name in LEFT_OUT or name.endswith(MEASURED) or value is None:
        return ""
    match value:
        case bool():
            told = said if value else f"not {said}"
        case int() if name in NUMBERS_OF:
            told = f"{said} {value}"
        case int():
            told = f"{value:,} {said.removesuffix('s') if value == 1 else said}"
        case float():
            told = f"{said} {formatting.percent(value) if name in SHARES else value}"
        case {"passed": bool(passed)}:
            told = f"{said} {'passed' if passed else 'failed'}"
        case dict():
            told = f"{said} " + ", ".join(
                f"{key} {each}" for key, each in value.items()
            )
        case list():
            told = "; ".join(map(str, value))
        case str() if name == "model":
            told = f"{said} {formatting.short(value)}"
        case _:
            told = str(value) if name == "reason" else f"{said} {value}"
    return told


def _progress(row: Mapping[Any, Any]) -> str:
    of = row["done"] + row["waiting"] + row["failed"]
    return f"{row['done']:,} of {of:,}"


def _plan_says(row: Mapping[Any, Any]) -> str:
    parts = []
    if row["failed"]:
        parts.append(f"{row['failed']:,} failed: {row['error']}")
    if row["left_out"]:
        parts.append(f"{formatting.count(row['left_out'], 'slot')} skipped")
    if row["waiting"] and not pd.isna(row["estimate_s"]):
        left = timedelta(seconds=row["estimate_s"]).total_seconds()
        parts.append(f"about {took(left)} left")
    if isinstance(row["wanted"], str):
        parts.append(f"{row['wanted']} requested")
    return "; ".join(parts)
