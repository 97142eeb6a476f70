"""Runs as display tables; no I/O."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from dashboard.text import formatting
from pipelines.schema.run_metrics import describe, duration

STATES = {
    "running": "…\N{NO-BREAK SPACE}running",
    "done": "✓\N{NO-BREAK SPACE}done",
    "partial": "◐\N{NO-BREAK SPACE}partial",
    "failed": "✕\N{NO-BREAK SPACE}failed",
    "repaired": "↻\N{NO-BREAK SPACE}repaired",
    "skipped": "–\N{NO-BREAK SPACE}skipped",
}
REPAIRED = "Another run of this night made its forecast."
WITHOUT = "Without the orders of"
LATER_HAS = "Later forecasts include them. "
MADE, COUNTED = {"depots", "late_cities"}, {"new", "corrected", "left_old", "depots"}
AGAIN = "then run 'harbor nightly'."
LATER = " Since then a later night has made a forecast."


def to_do(
    runs: pd.DataFrame, gaps: int, refused: int, rejected: int, *, is_warned: bool
) -> list[str]:
    """Sentences on what operators must do, most urgent first; empty if nothing.

    Args:
      runs: `queries.runs`.
      gaps: Number of depots with missing days.
      refused: Number of refused files.
      rejected: Number of rejected rows.
      is_warned: Whether there is a warning at the top of the page.
    """
    points = ["See the warning above."] if is_warned else []
    night = _newest_night(runs)
    if night:
        failed = _failed_steps(runs, night)
        which = f"which failed in {_name(night)}, {AGAIN}"
        why = [f"{step}: {error}" for step, error in failed.items() if error]
        why = why if len(failed) > 1 else [*failed.values()]
        if failed:
            told = " ".join([f"Fix {formatting.listed([*failed])}, {which}", *why])
            points.append(told.strip())
    late = night["metrics"].get("late_depots", 0) if night else 0
    has_come = night is not None and not pd.isna(night["late_came_at"])
    if gaps or (late and not has_come):
        depots = formatting.count(gaps or late, "depot")
        points.append(f"Load the missing orders of {depots}, {AGAIN}")
    elif has_come:
        points.append("Run 'harbor nightly', as the late orders have come.")
    if refused:
        points.append(f"Correct {formatting.count(refused, 'refused file')}.")
    if rejected:
        points.append(f"Correct {formatting.count(rejected, 'rejected row')}.")
    return points


def night_sentence(runs: pd.DataFrame) -> str:
    """The outcome of the newest nightly run; '' before the first.

    'The forecast of the night after Thu 20 Nov was made without the orders of 2 depots, which have
    come since.'
    """
    night = _newest_night(runs)
    if night is None:
        return ""
    name = _name(night)
    if night["state"] == "running":
        return "The nightly run is under way."
    own = runs[(runs["parent_id"] == night["run_id"]) & (runs["step"] == "forecast")]
    if (own["state"] != "done").all():
        return f"No forecast was made in {name}."
    with_what = "with all orders"
    if late := night["metrics"].get("late_depots"):
        with_what = f"without the orders of {formatting.count(late, 'depot')}"
    if not pd.isna(night["late_came_at"]):
        with_what += ", which have come since"
    return f"The forecast of {name} was made {with_what}."


def _name(night: Mapping[Hashable, Any]) -> str:
    return f"the night after {_origin(night)}"


def _newest_night(runs: pd.DataFrame) -> Mapping[Hashable, Any] | None:
    """The newest nightly run that had something to do."""
    nights = _nights(runs).query("state != 'skipped'")
    return next(iter(nights.to_dict("records")), None)


def _failed_steps(runs: pd.DataFrame, night: Mapping[Hashable, Any]) -> dict[str, str]:
    """Errors by name of the failed step; under 'the run' if it failed between steps."""
    own = runs[(runs["parent_id"] == night["run_id"]) & (runs["state"] == "failed")]
    why = {_step(row): _error(row) for row in own.to_dict("records")}
    return why or ({"the run": ""} if night["state"] == "failed" else {})


def runs_table(runs: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """Display table of the nightly runs of `queries.runs`."""
    nights = _nights(_with_late_orders(runs))
    is_done = nights["state"] == "done"
    last_runs = nights[is_done].groupby("origin_on")["run_id"].max()
    is_made = nights["run_id"] < nights["origin_on"].map(last_runs)
    is_made &= nights["state"] == "failed"
    is_past = ~is_done & (nights["run_id"] < nights.loc[is_done, "run_id"].max())
    errors = nights["error"].where(~is_past, nights["error"] + LATER)
    errors = errors.mask(is_made, REPAIRED)
    forecasts = runs[runs["step"] == "forecast"].set_index("parent_id")["metrics"]
    # A night's other counts are shown with its steps.
    metrics = []
    for run_id, own in zip(nights["run_id"], nights["metrics"], strict=True):
        made = forecasts.get(run_id, {})
        told = {name: made[name] for name in MADE & made.keys()}
        metrics.append(told | {name: own[name] for name in own if name not in COUNTED})
    state = nights["state"].mask(is_made, "repaired")
    nights = nights.assign(
        error=errors, state=state, metrics=pd.Series(metrics, nights.index)
    )
    return _table(nights, zone, "Night after", _origin)


def _with_late_orders(runs: pd.DataFrame) -> pd.DataFrame:
    """Adds `has_later`, whether a later night has the late orders; a step is as its night."""
    last_at = _nights(runs).query("state == 'done'")["started_at"].max()
    came_at = runs.set_index("run_id")["late_came_at"].to_dict()
    own = [came_at[run] for run in runs["parent_id"].fillna(runs["run_id"])]
    has_later = pd.Series([each < last_at for each in own], runs.index, dtype=bool)
    return runs.assign(late_came_at=own, has_later=has_later)


def last_trouble(nights: pd.DataFrame) -> str:
    """'Last trouble, repaired: the night after Sun 22 Nov. It is full.' of `runs_table`.

    '' without trouble, or while a night runs.
    """
    states = [STATES[each] for each in ("failed", "partial", "repaired")]
    had_trouble = nights[nights["State"].isin(states)]
    if had_trouble.empty or nights["State"].iloc[0] == STATES["running"]:
        return ""
    night = had_trouble.iloc[0]
    over = ", repaired" if night["State"] == STATES["repaired"] else ""
    what, *_ = night["Result"].removesuffix(".").partition(". ")
    after = f"Last trouble{over}: the night after {night['Night after']}"
    if what.startswith(WITHOUT):
        return f"{after} had its forecast made w{what[1:]}."
    return f"{after}. {what}.".removesuffix(" .")


def _late(run: Mapping[Any, Any], cities: Mapping[str, int], zone: ZoneInfo) -> str:
    """'Without the orders of London (8 depots), which came on Sun 22 Nov. '."""
    count = "{} ({:,}\N{NO-BREAK SPACE}depot{})".format
    depots = [count(city, n, "s" * (n > 1)) for city, n in cities.items()]
    came, came_at = "", run["late_came_at"]
    if not pd.isna(came_at):
        came = f", which came on {formatting.day(came_at.astimezone(zone))}"
    told = f"{WITHOUT} {formatting.listed(depots)}{came}. "
    return told + LATER_HAS * run["has_later"]


def steps(runs: pd.DataFrame, run_id: int, zone: ZoneInfo) -> pd.DataFrame:
    """Display table of the steps of one run, in order, or of the run itself if it has none."""
    runs = _with_late_orders(runs)
    own = runs[runs["parent_id"] == run_id]
    rows = runs[runs["run_id"] == run_id] if own.empty else own
    table = _table(rows, zone, "Step", _step)
    return table if own.empty else table.drop(columns="Started")


def night_ids(runs: pd.DataFrame) -> list[str]:
    """The run id of each row of `runs_table`."""
    return [*_nights(runs)["run_id"].map(str)]


def _nights(runs: pd.DataFrame) -> pd.DataFrame:
    return runs[runs["parent_id"].isna() & (runs["step"] == "nightly")]


def labels(runs: pd.DataFrame, zone: ZoneInfo) -> dict[str, str]:
    """Select-box labels by run id, leaving out steps; nightly runs first. Times in `zone`."""
    parents = runs[runs["parent_id"].isna()].sort_values(
        "step", key=lambda steps: steps != "nightly", kind="stable"
    )
    told = {}
    for row in parents.to_dict("records"):
        began = formatting.timestamp(row["started_at"], zone)
        on = began if pd.isna(row["origin_on"]) else _origin(row)
        failed = " · failed" * (row["state"] == "failed")
        told[f"{row['run_id']}"] = f"{_step(row)} · {on} · run {row['run_id']}{failed}"
    return told


def _table(
    rows: pd.DataFrame,
    zone: ZoneInfo,
    heading: str,
    name_row: Callable[[Mapping[Any, Any]], str],
) -> pd.DataFrame:
    is_late = rows["metrics"].map(lambda metrics: bool(metrics.get("late_depots")))
    late_state = rows["has_later"].map({True: "repaired", False: "partial"})
    state = rows["state"].mask(is_late & rows["state"].eq("done"), late_state)
    records = rows.assign(state=state).to_dict("records")
    return pd.DataFrame(
        {
            heading: [name_row(row) for row in records],
            "State": [STATES[row["state"]] for row in records],
            "Started": [
                formatting.timestamp(row["started_at"], zone) for row in records
            ],
            "Duration": [duration(row["seconds"]) for row in records],
            "Result": [
                formatting.format_dates(_result(row, zone), zone) for row in records
            ],
        }
    )


def _result(row: Mapping[Any, Any], zone: ZoneInfo) -> str:
    if error := _error(row):
        return error
    metrics = dict(row["metrics"])
    if lines := metrics.pop("lines", []):
        number = formatting.count(len(lines), "city", "cities")
        metrics["morning_message_written_for"] = number
    late = ""
    if cities := metrics.pop("late_cities", None):
        metrics.pop("late_depots", None)
        late = _late(row, cities, zone)
    # A night shows only the number of alarms; its step `accuracy` shows their texts.
    if row["step"] == "nightly" and (alarms := metrics.pop("alarms", None)):
        metrics = {"accuracy_alarms": len(alarms)} | metrics
    told = formatting.with_naive_name(describe(metrics))
    told = told.replace("new champion", "new model in use")
    if row["step"] == "prune" and row["state"] == "done":
        told = told or "nothing old to remove"
    return f"{late}{told[:1].upper()}{told[1:]}".strip()


def _error(row: Mapping[Any, Any]) -> str:
    return row["error"] if isinstance(row["error"], str) else ""


def _origin(row: Mapping[Any, Any]) -> str:
    if pd.isna(row["origin_on"]):
        return formatting.UNKNOWN
    return formatting.day(row["origin_on"])


def _step(row: Mapping[Any, Any]) -> str:
    return formatting.display_name(row["step"])
