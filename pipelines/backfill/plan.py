"""A plan: what is to be done, slot by slot, and how it stands."""

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
    """One step over one partition: in the plan or left out, for a reason.

    Args:
      number: In the order of the plan, from 1.
      step: One of `asking.STEPS`.
      origin_on: Of a forecast; the last day learnt from, for a training.
      is_in: Whether anything is done.
      reason: Why, or why not.
      model_version: That forecasts; None where there is none, or none yet.
      rows: It writes, or wrote; 0 where that is not known in advance.
      estimate_s: Seconds by past runs; None without any.
      overwrites: Forecasts that are there and will be replaced.
      newest_made_at: Of those.
      state: left out, waiting, done or failed.
      error: Why it failed.
      run_id: Of the run that did it last.
      finished_at: When.
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
        """What is done, in one word."""
        return self.step if self.is_in else "leave"

    @property
    def model(self) -> str | None:
        """The model that forecast; None where none did."""
        return self.model_version if self.state == "done" else None

    @property
    def is_waiting(self) -> bool:
        """Whether it is still to be done."""
        return self.state == "waiting"

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Self:
        """From the columns of `backfill_slots`."""
        return cls(**{field.name: row[field.name] for field in fields(cls)})


@dataclass(frozen=True)
class BackfillPlan:
    """A plan as it stands."""

    backfill_id: int
    created_at: datetime
    request: BackfillRequest
    ledger: Mapping[str, Any]
    state: str
    slots: Sequence[Slot]

    def count(self, state: str) -> int:
        """Slots in a state."""
        return sum(slot.state == state for slot in self.slots)

    def of(self, step: str) -> list[Slot]:
        """Slots of a step, in order."""
        return [slot for slot in self.slots if slot.step == step]

    @property
    def waiting(self) -> list[Slot]:
        """Slots still to be done, in order."""
        return [slot for slot in self.slots if slot.is_waiting]

    @property
    def failed(self) -> list[Slot]:
        """Slots that failed."""
        return [slot for slot in self.slots if slot.state == "failed"]

    @property
    def without_model(self) -> list[date]:
        """Origins that no model may serve and one could be trained for, earliest first."""
        return sorted(
            slot.origin_on
            for slot in self.slots
            if slot.origin_on and not slot.is_in and slot.reason.startswith(TRAIN_ONE)
        )

    def seconds_left(self) -> float | None:
        """By past runs; None where some slot has none to go by."""
        seconds = [slot.estimate_s for slot in self.waiting]
        known = [each for each in seconds if each is not None]
        return sum(known) if len(known) == len(seconds) else None


NO_MODEL = "no model was trained on days up to it alone"
TRAIN_ONE = f"{NO_MODEL}. Train one"
LIVE_FORECAST_KEPT = "forecast live by that model; a live forecast is never replaced"


def read_plan(connection: sa.Connection, backfill_id: int) -> BackfillPlan:
    """A plan and its slots.

    Raises:
      NoDataError: there is none of that id.
    """
    found = store.plan(connection, backfill_id)
    if found is None:
        raise NoDataError(
            f"There is no backfill plan {backfill_id}. See 'harbor backfill status'."
        )
    rows = store.plan_slots(connection, backfill_id)
    return BackfillPlan(
        backfill_id=backfill_id,
        created_at=found["created_at"],
        request=BackfillRequest.from_json(found["asked"]),
        ledger=found["ledger"],
        state=found["state"],
        slots=[Slot.of_row(row) for row in rows],
    )
