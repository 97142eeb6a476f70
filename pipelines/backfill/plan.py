"""A stored backfill plan: its request, its slots, and whether it can still be applied."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

import sqlalchemy as sa

from forecaster.errors import (
    BadInputError,
    NoDataError,
    NothingToDoError,
    shortened_list,
)
from pipelines.backfill.request import REQUEST_JSON, BackfillRequest
from pipelines.database.engine import snapshot
from pipelines.store import backfill as store
from pipelines.store.backfill import DataFingerprint

LIVE_FORECAST_KEPT = "already has that model's live forecast, which is never replaced"
ReasonCode = Literal[
    "before_data",
    "after_data",
    "newest_day",
    "too_little_history",
    "no_model",
    "no_model_needed",
    "model_trained_by_plan",
    "newest_model",
    "forecast_stored",
    "live_forecast",
    "actuals_known",
]
"""Why a slot is run or skipped; `Slot.reason` is the sentence for people."""


@dataclass(frozen=True)
class Slot:
    """One step for one origin, included in the plan or skipped, with the reason.

    Args:
      position: Position in the plan, from 1.
      step: One of `request.STEPS`.
      origin_on: Origin of a forecast; last day of the data for a training.
      is_included: Whether the slot is run.
      reason_code: Why it is run or skipped.
      reason: The same as a sentence.
      model_version: Model of the forecast; None where there is none, or none yet.
      rows: Rows written or to be written; 0 where that is unknown in advance.
      estimate_s: Estimated seconds from past runs; None without any.
      replaced_rows: Number of stored forecasts that will be replaced.
      newest_made_at: When the newest of those was made.
      state: skipped, waiting, done or failed.
      error: Error message of a failed slot.
      run_id: The last run that processed it.
      finished_at: When it ended.
    """

    position: int
    step: str
    origin_on: date | None
    is_included: bool
    reason_code: ReasonCode
    reason: str
    model_version: str | None = None
    rows: int = 0
    estimate_s: float | None = None
    replaced_rows: int = 0
    newest_made_at: datetime | None = None
    state: str = "waiting"
    error: str | None = None
    run_id: int | None = None
    finished_at: datetime | None = None

    @property
    def action(self) -> str:
        """The step, or `leave` for a slot that is not run."""
        return self.step if self.is_included else "leave"

    @property
    def model(self) -> str | None:
        """Version of the model that forecast the slot; None before it is done."""
        return self.model_version if self.state == "done" else None

    @property
    def outcome(self) -> str:
        """Why the slot is run or skipped, or why it failed."""
        return self.error or self.reason


@dataclass(frozen=True)
class BackfillPlan:
    """A backfill plan with the current states of its slots."""

    backfill_id: int
    created_at: datetime
    request: BackfillRequest
    fingerprint: DataFingerprint
    state: str
    slots: Sequence[Slot]

    def count(self, state: str) -> int:
        """Number of slots in a state."""
        return len(self._in(state))

    def of(self, step: str) -> list[Slot]:
        """Slots of a step, in order."""
        return [slot for slot in self.slots if slot.step == step]

    @property
    def waiting(self) -> list[Slot]:
        """Slots that have not been run yet, in order."""
        return self._in("waiting")

    @property
    def failed(self) -> list[Slot]:
        """Slots that failed."""
        return self._in("failed")

    def _in(self, state: str) -> list[Slot]:
        return [slot for slot in self.slots if slot.state == state]

    @property
    def without_model(self) -> list[date]:
        """Origins without an eligible model for which one could be trained, earliest first."""
        return [
            slot.origin_on
            for slot in self.slots
            if slot.origin_on
            and slot.reason_code == "no_model"
            and not slot.is_included
        ]

    def seconds_left(self) -> float | None:
        """Estimated seconds left; None where a waiting slot has no estimate."""
        seconds = [slot.estimate_s for slot in self.waiting]
        estimates = [estimate for estimate in seconds if estimate is not None]
        return sum(estimates) if len(estimates) == len(seconds) else None


def read_plan(engine: sa.Engine, backfill_id: int) -> BackfillPlan:
    """Reads a plan and its slots.

    Raises:
      NoDataError: there is no plan of that id.
    """
    with snapshot(engine) as connection:
        row = store.plan(connection, backfill_id)
        slots = store.plan_slots(connection, backfill_id)
    if row is None:
        raise NoDataError(
            f"There is no backfill plan {backfill_id}. See 'harbor backfill status'."
        )
    return BackfillPlan(
        backfill_id=backfill_id,
        created_at=row["created_at"],
        request=REQUEST_JSON.validate_python(row["request"]),
        fingerprint=DataFingerprint(**row["snapshot"]),
        state=row["state"],
        slots=[Slot(**slot) for slot in slots],
    )


def data_fingerprint(
    connection: sa.Connection, request: BackfillRequest, horizon: int
) -> DataFingerprint:
    """Summarises the data and models that a plan depends on."""
    until = request.last + min(timedelta(days=horizon), date.max - request.last)
    return store.data_fingerprint(connection, request.last, until)


def require_work(plan: BackfillPlan) -> None:
    """Rejects a plan without a waiting slot.

    Raises:
      BadInputError: it was cancelled.
      NothingToDoError: no slot is waiting.
    """
    if plan.state == "cancelled":
        raise BadInputError(
            f"Plan {plan.backfill_id} was cancelled. Make a new one with 'harbor "
            "backfill plan'."
        )
    if not plan.waiting:
        message = f"Plan {plan.backfill_id} has no tasks left to do."
        if plan.failed:
            retry = f"'harbor backfill retry {plan.backfill_id} --failed'"
            message += f" {len(plan.failed)} failed; {retry} tries them again."
        raise NothingToDoError(message)


def require_unchanged(engine: sa.Engine, plan: BackfillPlan, horizon: int) -> None:
    """Rejects a plan if anything it depends on has changed.

    Raises:
      BadInputError: data or models have changed; the message lists every change.
    """
    with snapshot(engine) as connection:
        current = data_fingerprint(connection, plan.request, horizon)
        depots = plan.request.depot_ids(connection)
        origins = store.origins_changed_since(connection, plan.backfill_id, depots)
    changes = list(_differences(plan, current))
    if origins:
        changes.append(f"forecasts from {shortened_list(origins)} were made again")
    if changes:
        raise BadInputError(
            f"Data or models have changed since plan {plan.backfill_id} was made: "
            f"{'; '.join(changes)}. Make a new plan with 'harbor backfill plan'."
        )


def _differences(plan: BackfillPlan, current: DataFingerprint) -> Iterator[str]:
    for name in ("counts", "events", "signals", "depots"):
        if getattr(plan.fingerprint, name) != getattr(current, name):
            yield f"{name} changed"
    before, after = set(plan.fingerprint.models), set(current.models)
    for version in sorted(after - before):
        yield f"model {version} was added"
    # Every nightly run prunes models; only those the plan still needs matter.
    planned = {slot.model_version for slot in plan.waiting if slot.model_version}
    for version in sorted(planned & (before - after)):
        yield f"model {version} is gone, or its artefact was pruned"
