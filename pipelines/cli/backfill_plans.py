"""How plans of backfills are shown to people, and to machines."""

import time
from dataclasses import asdict
from typing import Any

from pipelines.backfill import BackfillPlan, Slot, control, read_plan
from pipelines.cli.console import say, show_json, show_table, standing_line
from pipelines.cli.workplace import Workplace
from pipelines.database.engine import snapshot
from pipelines.store import backfill as store

LOOK_EVERY_S = 1.0
MOST_REASONS = 3
NEWEST_PLANS = 20


def read(place: Workplace, backfill_id: int) -> BackfillPlan:
    """A plan as it stands.

    Raises:
      NoDataError: there is none of that id.
    """
    with snapshot(place.engine) as connection:
        return read_plan(connection, backfill_id)


def watch_plan(place: Workplace, backfill_id: int) -> None:
    """Shows how a plan stands until nobody applies it."""
    found = read(place, backfill_id)
    with standing_line(standing(place, found)) as update:
        while control.is_running(place.engine, found):
            time.sleep(LOOK_EVERY_S)
            found = read(place, backfill_id)
            update(standing(place, found))


def standing(place: Workplace, found: BackfillPlan) -> str:
    """How a plan stands, in a sentence or two."""
    counts = ", ".join(
        f"{found.count(state)} {state}"
        for state in ("done", "waiting", "failed", "left out")
    )
    told = f"Plan {found.backfill_id} is {_state(place, found)}: {counts}."
    if not found.waiting:
        return told
    seconds = found.seconds_left()
    took = (
        ""
        if seconds is None
        else f" About {duration(seconds)} left, judging by past runs."
    )
    return told + took


def _state(place: Workplace, found: BackfillPlan) -> str:
    broke_off = found.state == "running" and not control.is_running(place.engine, found)
    return (
        f"interrupted ('harbor backfill resume {found.backfill_id}' continues it)"
        if broke_off
        else found.state
    )


def show_plans(place: Workplace, as_json: bool) -> None:
    with place.engine.connect() as connection:
        found = store.plans(connection, NEWEST_PLANS)
    if as_json:
        show_json(found)
        return
    if not found:
        say("No backfill has been planned. See 'harbor backfill plan --help'.")
        return
    columns = ("plan", "from", "to", "state", "done", "waiting", "failed", "left out")
    rows = [
        (
            *(str(row["backfill_id"]), row["asked"]["first"], row["asked"]["last"]),
            row["state"],
            *(row[name] for name in ("done", "waiting", "failed", "left_out")),
        )
        for row in found
    ]
    show_table("Newest plans", columns, rows)


def show_plan(made: BackfillPlan) -> None:
    columns = ("slot", "origin", "action", "rows", "overwrites", "about", "reason")
    rows = [
        (
            str(slot.number),
            str(slot.origin_on or "–"),
            slot.action,
            slot.rows,
            slot.overwrites,
            "–" if slot.estimate_s is None else duration(slot.estimate_s),
            f"{slot.model_version}: {slot.reason}"
            if slot.model_version
            else slot.reason,
        )
        for slot in made.slots
    ]
    show_table(f"Plan {made.backfill_id}", columns, rows)
    if made.without_model and "train" not in made.request.what:
        say(
            "Days without a model that was trained on nothing later: "
            f"{len(made.without_model)}. Plan with --what train,forecast,score to "
            f"train one through {made.without_model[0]} first."
        )
    waiting = len(made.waiting)
    seconds = made.seconds_left()
    took = (
        "with no past run to tell how long they take"
        if seconds is None
        else f"about {duration(seconds)} judging by past runs"
    )
    say(
        f"{waiting} of {len(made.slots)} slots to do, {took}. Apply the plan with "
        f"'harbor backfill apply {made.backfill_id}'."
    )


def show_failures(found: BackfillPlan) -> None:
    for slot in found.failed[:MOST_REASONS]:
        day = f" {slot.origin_on}" if slot.origin_on else ""
        say(f"Failed: {slot.step}{day}: {slot.error}")
    if found.failed[MOST_REASONS:]:
        say(f"And {len(found.failed) - MOST_REASONS} more.")


def plan_as_json(found: BackfillPlan) -> dict[str, Any]:
    return {
        "plan": found.backfill_id,
        "created_at": found.created_at,
        "state": found.state,
        "asked": found.request.to_json(),
        "seconds_left": found.seconds_left(),
        "without_model": found.without_model,
        "slots": [{"action": slot.action} | asdict(slot) for slot in found.slots],
    }


def why(slot: Slot) -> str:
    """Why a slot is in or out, or why it failed."""
    return slot.error or slot.reason


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
