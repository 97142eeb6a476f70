"""A backfill in one go: planned and applied at once."""

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

    Each origin uses the newest model that saw nothing after it, and only the counts that
    were known in the night after it. An origin that no model may serve is left out, and
    says so.

    Args:
      engine: Database the pipelines own.
      settings: For the folders and the zone.
      first: First origin.
      last: Last origin.
      now: Time of the run.
      report: Told of each origin when it is done.

    Raises:
      BadInputError: `last` lies before `first`.
      NoModelError: no origin could be forecast.
    """
    plan = make_plan(engine, settings, BackfillRequest(first, last, only="all"))

    def tell(slot: Slot) -> None:
        if slot.step == "forecast":
            report(slot)

    try:
        _require_an_origin(plan)
        plan = apply_plan(
            engine, settings, plan.backfill_id, now, ProgressCallbacks(slot=tell)
        )
    except HarborError:
        # One that was refused is nothing that anybody planned.
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
