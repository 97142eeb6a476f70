"""Shows backfill plans as text and as JSON."""

import time
from dataclasses import asdict
from typing import Any

from pipelines.backfill import BackfillPlan, control, read_plan
from pipelines.backfill.request import REQUEST_JSON
from pipelines.cli.console import echo, live_status, show_json, show_table
from pipelines.cli.context import CommandContext
from pipelines.store import backfill as store

POLL_INTERVAL_S = 1.0
MAX_FAILURES_SHOWN = 3
MAX_PLANS_SHOWN = 20


def watch_plan(context: CommandContext, backfill_id: int) -> None:
    """Shows the progress of a plan until it is no longer applied."""
    plan = read_plan(context.engine, backfill_id)
    with live_status(describe(context, plan)) as update:
        while control.is_running(context.engine, plan):
            time.sleep(POLL_INTERVAL_S)
            plan = read_plan(context.engine, backfill_id)
            update(describe(context, plan))


def describe(context: CommandContext, plan: BackfillPlan) -> str:
    """The state of a plan, in a sentence or two."""
    state = control.live_state(context.engine, plan)
    if state == "interrupted":
        state += f" ('harbor backfill resume {plan.backfill_id}' continues it)"
    counts = ", ".join(
        f"{plan.count(name)} {name}"
        for name in ("done", "waiting", "failed", "skipped")
    )
    sentence = f"Plan {plan.backfill_id} is {state}: {counts}."
    seconds = plan.seconds_left()
    if plan.waiting and seconds is not None:
        sentence += (
            f" About {approximate_duration(seconds)} left, judging by past runs."
        )
    return sentence


def show_plans(context: CommandContext, as_json: bool) -> None:
    with context.engine.connect() as connection:
        plans = store.plans(connection, MAX_PLANS_SHOWN)
    if as_json:
        show_json(plans)
        return
    if not plans:
        echo("No backfill has been planned. See 'harbor backfill plan --help'.")
        return
    names = ("state", "done", "waiting", "failed", "skipped")
    rows = [
        (
            str(plan["backfill_id"]),
            plan["request"]["first"],
            plan["request"]["last"],
            *(plan[name] for name in names),
        )
        for plan in plans
    ]
    show_table("Newest plans", ("plan", "from", "to", *names), rows)


def show_plan(plan: BackfillPlan) -> None:
    columns = ("task", "origin", "action", "rows", "replaces", "estimate", "reason")
    rows = [
        (
            str(slot.position),
            str(slot.origin_on or "–"),
            slot.action,
            slot.rows,
            slot.replaced_rows,
            "–" if slot.estimate_s is None else approximate_duration(slot.estimate_s),
            ": ".join(filter(None, (slot.model_version, slot.reason))),
        )
        for slot in plan.slots
    ]
    show_table(f"Plan {plan.backfill_id}", columns, rows)
    if plan.without_model and "train" not in plan.request.what:
        echo(
            "Origins with no model trained on or before them: "
            f"{len(plan.without_model)}. Plan with --what train,forecast,score to "
            f"train one through {plan.without_model[0]} first."
        )
    seconds = plan.seconds_left()
    estimate = (
        "with no past run to tell how long they take"
        if seconds is None
        else f"about {approximate_duration(seconds)} judging by past runs"
    )
    echo(
        f"{len(plan.waiting)} of {len(plan.slots)} tasks to do, {estimate}. Apply the "
        f"plan with 'harbor backfill apply {plan.backfill_id}'."
    )


def show_progress(context: CommandContext, plan: BackfillPlan, as_json: bool) -> None:
    if as_json:
        show_json(plan_as_json(plan))
        return
    echo(describe(context, plan))
    for slot in plan.failed[:MAX_FAILURES_SHOWN]:
        day = f" {slot.origin_on}" if slot.origin_on else ""
        echo(f"Failed: {slot.step}{day}: {slot.error}")
    if len(plan.failed) > MAX_FAILURES_SHOWN:
        echo(f"And {len(plan.failed) - MAX_FAILURES_SHOWN} more.")


def plan_as_json(plan: BackfillPlan) -> dict[str, Any]:
    return {
        "plan": plan.backfill_id,
        "created_at": plan.created_at,
        "state": plan.state,
        "request": REQUEST_JSON.dump_python(plan.request, mode="json"),
        "seconds_left": plan.seconds_left(),
        "without_model": plan.without_model,
        "slots": [{"action": slot.action} | asdict(slot) for slot in plan.slots],
    }


def approximate_duration(seconds: float) -> str:
    """An estimate in one unit; measured durations have two, on the page Pipeline."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
