"""Plans a backfill and applies it in one call."""

from collections.abc import Callable
from datetime import date, datetime

import sqlalchemy as sa

from forecaster.errors import HarborError, NoModelError
from pipelines.backfill.apply import ProgressCallbacks, apply_plan
from pipelines.backfill.plan import BackfillPlan, Slot
from pipelines.backfill.planner import make_plan
from pipelines.backfill.request import BackfillRequest
from pipelines.settings import Settings
from pipelines.store import backfill as store


def run_backfill(
    engine: sa.Engine,
    settings: Settings,
    first: date,
    last: date,
    now: datetime,
    report: Callable[[Slot], None] = lambda _: None,
) -> BackfillPlan:
    """Hindcasts every origin between two days, then scores them.

    Each origin uses the newest model trained on nothing later, and only the counts known
    in the night after it. An origin without such a model is skipped, with the reason.

    Args:
      engine: Database the pipelines own.
      settings: Folders and time zone.
      first: First origin.
      last: Last origin.
      now: Time of the run.
      report: Called with the slot of each origin when it has ended.

    Raises:
      BadInputError: `last` lies before `first`.
      NoModelError: no origin could be forecast.
    """
    plan = make_plan(engine, settings, BackfillRequest(first, last, only="all"))

    def on_slot(slot: Slot) -> None:
        if slot.step == "forecast":
            report(slot)

    try:
        _require_an_origin(plan)
        plan = apply_plan(
            engine, settings, plan.backfill_id, now, ProgressCallbacks(on_slot=on_slot)
        )
    except HarborError:
        # A refused plan is not kept: nobody asked for one.
        with engine.begin() as connection:
            store.drop_unbegun(connection, plan.backfill_id)
        raise
    slots = plan.of("forecast")
    if all(slot.model is None for slot in slots):
        raise NoModelError(
            f"No origin was forecast. {slots[0].error or slots[0].reason}"
        )
    return plan


def _require_an_origin(plan: BackfillPlan) -> None:
    slots = plan.of("forecast")
    if not any(slot.is_in for slot in slots):
        raise NoModelError(f"No origin was forecast. {slots[0].reason}")
