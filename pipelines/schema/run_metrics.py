"""The duration and the metrics of a run in words: for the command line and the pages."""

import math
from collections.abc import Mapping
from typing import Any

FRACTIONS = {
    "mape": "off by {} (MAPE) on the days scored in the last 4 weeks",
    "coverage": "{} within the 80 % band",
    "naive_mape": "same day last week off by {}",
}
"""Descriptions of metrics that are fractions; {} is the percentage."""
COUNTS = {
    "accepted": "new row{}",
    "unchanged": "unchanged row{}",
    "rejected": "rejected row{}",
    "refused": "file{} refused",
    "new": "depot-day{} counted",
    "corrected": "depot-day{} corrected",
    "left_old": "correction{} too far back",
    "scored": "forecast{} scored",
    "depots": "depot{} forecast",
    "artefacts": "old model file{} removed",
    "model_files": "model file{} restored",
    "forecasts_deleted": "old forecast{} removed",
    "dropped": "old order{} removed",
}
"""Descriptions of counts whose names would not explain them; {} is the plural's s."""
SAID_IF_ANY = COUNTS.keys() - {"accepted", "new", "scored"}
"""Counts that the description leaves out if they are 0."""
COLUMNS = {"origin", "state"}
"""Metrics left out of the description, because they are shown in columns of their own."""
DETAILS = {
    "by_run",
    "described",
    "settings_id",
    "not_started_ids",
    "cache_hits",
    "cache_misses",
    "compilations",
    "steps",
}
MEASUREMENT_SUFFIXES = ("_seconds", "_bytes", "_error")


def duration(seconds: float) -> str:
    """Formats a duration as '2.5 s', '12 s', '3 min 5 s' or '2 h 4 min'; NaN as a dash."""
    if math.isnan(seconds):
        return "–"
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if round(seconds, 1) < 10 else f"{whole} s"
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {left} s"


def describe(metrics: Mapping[str, Any], with_details: bool = False) -> str:
    """Describes metrics, as in '2 files, canary passed. It beats …'; None values are left out.

    Alarms and the reason are sentences and come last. The metric `canary_failed` of a promotion
    is left out, because the reason includes it.
    """
    sentences = [*metrics.get("alarms", ()), metrics.get("reason")]
    redundant = {"alarms", "reason"}
    if "promoted" in metrics:
        redundant |= {"canary_failed"}
    if "late_cities" in metrics:
        redundant |= {"late_depots"}
    if not metrics.get("worse_days"):
        redundant |= {"worse_days"}
    every = (
        _metric(name, value)
        for name, value in metrics.items()
        if value is not None and name not in COLUMNS | redundant
        if value or name not in SAID_IF_ANY
        if with_details or not (name in DETAILS or name.endswith(MEASUREMENT_SUFFIXES))
    )
    told = ", ".join(filter(None, every))
    if not any(sentences):
        return told
    return " ".join(filter(None, [f"{told.rstrip('.')}." if told else "", *sentences]))


def _metric(name: str, value: Any) -> str:
    label = name.replace("_", " ")
    match value:
        case bool() if name == "has_hours":
            text = "orders counted by the hour" if value else "no orders by the hour"
        case bool() if name == "promoted":
            text = "new champion" if value else "not promoted"
        case int() if name == "worse_days":
            days = "day" if value == 1 else f"{value:,} days"
            text = f"worse than that on the newest {days}"
        case bool():
            text = label if value else f"not {label}"
        case int() if name.endswith("_bytes"):
            text = f"{label.removesuffix(' bytes')} {value / 2**20:,.0f} MiB"
        case int() if name in COUNTS:
            text = f"{value:,} {COUNTS[name].format('' if value == 1 else 's')}"
        case int():
            text = f"{value:,} {label.removesuffix('s') if value == 1 else label}"
        case float() if name in FRACTIONS:
            text = FRACTIONS[name].format(f"{100 * value:.1f} %")
        case {"passed": bool(passed)}:
            text = f"{label} {'passed' if passed else 'failed'}"
        case dict():
            label = "late:" if name == "late_cities" else label
            text = f"{label} " + ", ".join(
                f"{key} {each}" for key, each in value.items()
            )
        case list():
            text = "; ".join(map(str, value))
        case _:
            text = f"{label} {value}"
    return text
