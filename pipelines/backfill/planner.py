"""Lays a backfill out: every slot with what is done and why, or why not."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, date, timedelta
from typing import Any

import sqlalchemy as sa

from forecaster.config import days_to_learn
from pipelines.backfill.plan import (
    LIVE_STAYS,
    NO_MODEL,
    TRAIN_ONE,
    BackfillPlan,
    Slot,
    read_plan,
)
from pipelines.backfill.request import Asked
from pipelines.database.engine import snapshot
from pipelines.demand import counting
from pipelines.settings import Settings
from pipelines.store import backfill as store
from pipelines.store import backfill_inputs as ground
from pipelines.store import models, plan_snapshot


def make_plan(engine: sa.Engine, settings: Settings, asked: Asked) -> BackfillPlan:
    """Plans a backfill, and writes the plan down; nothing else is changed.

    Args:
      engine: Database the pipelines own.
      settings: For the horizon, and the folder that is loaded from.
      asked: What is wanted.

    Raises:
      NoDataError: there is no demand, or a depot asked for is unknown.
    """
    until = asked.last + timedelta(days=settings.horizon)
    with snapshot(engine) as connection:
        newest = counting.newest_demand_day(connection)
        slots = _Layout.read(connection, settings, asked, newest).slots()
        ledger = plan_snapshot.ledger_now(connection, asked.last, until)
    rows = [asdict(slot) for slot in slots]
    with engine.begin() as connection:
        backfill_id = store.add_plan(connection, asked.to_json(), ledger, rows)
        return read_plan(connection, backfill_id)


@dataclass(frozen=True)
class _Layout:
    """What the slots are laid out from."""

    connection: sa.Connection
    asked: Asked
    horizon: int
    # Newest first.
    models: list[dict[str, Any]]
    held: dict[tuple[date, str], Any]
    failed: dict[date, str]
    depot_ids: list[str] | None
    n_depots: int
    first_observed: date | None
    newest: date
    seconds_a_row: float | None

    @classmethod
    def read(
        cls, connection: sa.Connection, settings: Settings, asked: Asked, newest: date
    ) -> "_Layout":
        chosen = asked.depot_ids(connection)
        return cls(
            connection=connection,
            asked=asked,
            horizon=settings.horizon,
            models=models.all_models(connection),
            held=ground.held_forecasts(connection, asked.first, asked.last, chosen),
            failed=ground.failed_before(connection, asked.first, asked.last),
            depot_ids=chosen,
            n_depots=(
                ground.count_depots(connection) if chosen is None else len(chosen)
            ),
            first_observed=ground.first_observed(connection),
            newest=newest,
            seconds_a_row=ground.seconds_a_row(connection),
        )

    def slots(self) -> list[Slot]:
        """Every slot in the order in which it is done."""
        laid_out = [
            *self._whole("ingest", "loads the new files of the inbox"),
            *self._whole("demand", "counts demand again"),
            *self._training(),
            *self._forecasts(),
            *self._whole("score", "scores every forecast whose actuals are known"),
        ]
        return [
            Slot(number, *each[:-1], **each[-1])
            for number, each in enumerate(laid_out, start=1)
        ]

    def _whole(self, step: str, reason: str) -> Iterator[tuple[Any, ...]]:
        """A step that is done once for all origins."""
        if step in self.asked.what:
            took = ground.seconds_a_run(self.connection, step)
            yield step, None, True, reason, {"estimate_s": took}

    def _training(self) -> Iterator[tuple[Any, ...]]:
        """One training serves every origin that has no model."""
        if "train" not in self.asked.what:
            return
        lonely = [
            day
            for day in self.asked.origins
            if self._model(day) is None and not self._there_by_pruned(day)
        ]
        origins = [day for day in lonely if self._may_be_learnt(day)]
        took = ground.seconds_a_run(self.connection, "train")
        if not origins:
            told = "every origin has a model that was trained on nothing later"
            if lonely:
                told = f"no origin without a model has {self._least_days} days of data"
            yield "train", None, False, told, {"state": "left out"}
            return
        told = (
            f"origins without a model that was trained on nothing later: {len(origins)}"
        )
        yield "train", min(origins), True, told, {"estimate_s": took}

    def _forecasts(self) -> Iterator[tuple[Any, ...]]:
        if "forecast" not in self.asked.what:
            return
        for origin in self.asked.origins:
            why, is_in, model = self._judged(origin)
            held = self.held.get((origin, model or ""))
            rows = self.n_depots * self.horizon if is_in else 0
            took = None if self.seconds_a_row is None else rows * self.seconds_a_row
            more = {
                "model_version": model,
                "rows": rows,
                "estimate_s": took if is_in else None,
                "overwrites": held.rows if is_in and held else 0,
                "newest_made_at": held.newest_made_at if is_in and held else None,
                "state": "waiting" if is_in else "left out",
            }
            yield "forecast", origin, is_in, why, more

    def _judged(self, origin: date) -> tuple[str, bool, str | None]:
        """Why an origin is in or out, whether it is in, and the model that serves it."""
        if not self._is_observed(origin):
            return f"there is no data up to {origin}", False, None
        if origin > self.newest:
            return f"the data ends on {self.newest}, before it", False, None
        if there := self._there_by_pruned(origin):
            return there, False, None
        model, pruned = self._model(origin), self._pruned(origin)
        if model is None:
            why, may_be = self._without_model(origin)
            why += _pruned_on(pruned)
            return *(self._wanted(origin, None, why) if may_be else (why, False)), None
        version = str(model["version"])
        kept = "" if pruned is None else " whose artefact is kept,"
        why = f"the newest model{kept} trained through {model['trained_through']}"
        return *self._wanted(origin, version, why + _pruned_on(pruned)), version

    def _without_model(self, origin: date) -> tuple[str, bool]:
        """Why an origin that no model may serve is in or out."""
        if not self._may_be_learnt(origin):
            few = f"{self._known_days(origin)} days of data up to {origin}"
            return (
                f"{NO_MODEL}, and only {few}: training needs {self._least_days}",
                False,
            )
        if "train" in self.asked.what:
            return "forecast by the model that this plan trains", True
        offer = f"{TRAIN_ONE} with 'harbor train --through {origin}', or plan with "
        return f"{offer}--what train,forecast,score", False

    def _wanted(self, origin: date, version: str | None, why: str) -> tuple[str, bool]:
        if there := self._there(origin, version or ""):
            return there, False
        if self.asked.only == "failed" and origin not in self.failed:
            return "has not failed (--only failed)", False
        if self.asked.only == "failed":
            return f"failed before: {self.failed[origin]}", True
        return why, True

    def _there(self, origin: date, version: str) -> str | None:
        """Why what a model has said from an origin stays; None where it may be written."""
        held = self.held.get((origin, version))
        if held is None:
            return None
        if held.live:
            return LIVE_STAYS
        whole = held.rows >= self.n_depots * self.horizon
        if whole and self.asked.only == "missing":
            return "already there (--only missing)"
        return None

    def _there_by_pruned(self, origin: date) -> str | None:
        """As `_there`, of the model that would forecast if it were not pruned."""
        pruned = self._pruned(origin)
        return None if pruned is None else self._there(origin, pruned["version"])

    def _is_observed(self, origin: date) -> bool:
        return self.first_observed is not None and self.first_observed <= origin

    def _may_be_learnt(self, origin: date) -> bool:
        """Whether there is history enough to train a model through an origin."""
        return self._known_days(origin) >= self._least_days

    def _known_days(self, origin: date) -> int:
        """Days from the first that is known up to an origin."""
        if self.first_observed is None:
            return 0
        return max((origin - self.first_observed).days + 1, 0)

    @property
    def _least_days(self) -> int:
        return days_to_learn(self.horizon)

    def _model(self, origin: date) -> dict[str, Any] | None:
        """The newest model that saw nothing after an origin, and that can forecast."""
        known = (each for each in self.models if each["trained_through"] <= origin)
        return next((each for each in known if each["pruned_at"] is None), None)

    def _pruned(self, origin: date) -> dict[str, Any] | None:
        """The newest model that saw nothing after an origin, where it cannot forecast."""
        known = (each for each in self.models if each["trained_through"] <= origin)
        newest = next(known, None)
        return newest if newest is not None and newest["pruned_at"] else None


def _pruned_on(model: dict[str, Any] | None) -> str:
    """What a reason adds where a newer model was passed over."""
    if model is None:
        return ""
    on = model["pruned_at"].astimezone(UTC).date()
    return f"; the artefact of {model['version']} was pruned on {on}"
