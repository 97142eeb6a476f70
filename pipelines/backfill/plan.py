"""A stored backfill plan: its request, its slots and their states."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from typing import Any, Self

import sqlalchemy as sa

from forecaster.errors import NoDataError
from pipelines.backfill.request import BackfillRequest
from pipelines.store import backfill as store


@dataclass(frozen=True)
class Slot:
    """One step over one partition, included in the plan or skipped, with the reason.

    Args:
      number: Position in the plan, from 1.
      step: One of `request.STEPS`.
      origin_on: Origin of a forecast; last day of the data for a training.
      is_in: Whether the slot is run.
      reason: Why it is run or skipped.
      model_version: Model of the forecast; None where there is none, or none yet.
      rows: Rows written or to be written; 0 where that is unknown in advance.
      estimate_s: Estimated seconds from past runs; None without any.
      overwrites: Number of stored forecasts that will be replaced.
      newest_made_at: When the newest of those was made.
      state: left out, waiting, done or failed.
      error: Error message of a failed slot.
      run_id: The last run that processed it.
      finished_at: When it ended.
    """

    number: int
    step: str
    origin_on: date | None
    is_in: bool
    reason: str
    model_version: str | None = None
    rows: int = 0
    estimate_s: float | None = None
    overwrites: int = 0
    newest_made_at: datetime | None = None
    state: str = "waiting"
    error: str | None = None
    run_id: int | None = None
    finished_at: datetime | None = None

    @property
    def action(self) -> str:
        """The step, or `leave` for a slot that is not run."""
        return self.step if self.is_in else "leave"

    @property
    def model(self) -> str | None:
        """Version of the model that forecast the slot; None before it is done."""
        return self.model_version if self.state == "done" else None

    @property
    def is_waiting(self) -> bool:
        """Whether the slot has not been run yet."""
        return self.state == "waiting"

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """A slot from a row of `backfill_slots`."""
        return cls(**{field.name: row[field.name] for field in fields(cls)})


@dataclass(frozen=True)
class BackfillPlan:
    """A backfill plan with the current states of its slots."""

    backfill_id: int
    created_at: datetime
    request: BackfillRequest
    ledger: Mapping[str, Any]
    state: str
    slots: Sequence[Slot]

    def count(self, state: str) -> int:
        """Number of slots in a state."""
        return sum(slot.state == state for slot in self.slots)

    def of(self, step: str) -> list[Slot]:
        """Slots of a step, in order."""
        return [slot for slot in self.slots if slot.step == step]

    @property
    def waiting(self) -> list[Slot]:
        """Slots that have not been run yet, in order."""
        return [slot for slot in self.slots if slot.is_waiting]

    @property
    def failed(self) -> list[Slot]:
        """Slots that failed."""
        return [slot for slot in self.slots if slot.state == "failed"]

    @property
    def without_model(self) -> list[date]:
        """Origins without an eligible model for which one could be trained, earliest first."""
        return sorted(
            slot.origin_on
            for slot in self.slots
            if slot.origin_on and not slot.is_in and slot.reason.startswith(TRAIN_ONE)
        )

    def seconds_left(self) -> float | None:
        """Estimated seconds left; None where a waiting slot has no estimate."""
        seconds = [slot.estimate_s for slot in self.waiting]
        known = [estimate for estimate in seconds if estimate is not None]
        return sum(known) if len(known) == len(seconds) else None


NO_MODEL = "no model was trained on days up to it alone"
TRAIN_ONE = f"{NO_MODEL}. Train one"
LIVE_FORECAST_KEPT = "forecast live by that model; a live forecast is never replaced"


def read_plan(connection: sa.Connection, backfill_id: int) -> BackfillPlan:
    """Reads a plan and its slots.

    Raises:
      NoDataError: there is no plan of that id.
    """
    row = store.plan(connection, backfill_id)
    if row is None:
        raise NoDataError(
            f"There is no backfill plan {backfill_id}. See 'harbor backfill status'."
        )
    slots = store.plan_slots(connection, backfill_id)
    return BackfillPlan(
        backfill_id=backfill_id,
        created_at=row["created_at"],
        request=BackfillRequest.from_json(row["asked"]),
        ledger=row["ledger"],
        state=row["state"],
        slots=[Slot.from_row(slot) for slot in slots],
    )
