"""Plans a backfill: every slot with its action and the reason."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date
from typing import Any

import sqlalchemy as sa

from forecaster.config import min_training_days
from pipelines.backfill.plan import (
    LIVE_FORECAST_KEPT,
    NO_MODEL,
    TRAIN_ONE,
    BackfillPlan,
    Slot,
    data_snapshot,
    read_plan,
)
from pipelines.backfill.request import REQUEST_JSON, BackfillRequest
from pipelines.database.engine import snapshot
from pipelines.demand import counting
from pipelines.settings import Settings
from pipelines.store import backfill as store
from pipelines.store import backfill_inputs as inputs
from pipelines.store import models
from pipelines.store.models import Model


def make_plan(
    engine: sa.Engine, settings: Settings, request: BackfillRequest
) -> BackfillPlan:
    """Plans a backfill and stores the plan; nothing else is written.

    Args:
      engine: Database the pipelines own.
      settings: Forecast horizon.
      request: Origins, depots and steps to plan.

    Raises:
      NoDataError: there is no demand, or a requested depot is unknown.
    """
    with snapshot(engine) as connection:
        newest = counting.newest_demand_day(connection)
        chosen = request.depot_ids(connection)
        planner = _Planner(
            request=request,
            horizon=settings.horizon,
            newest=newest,
            oldest=inputs.first_observed(connection) or newest,
            n_depots=inputs.count_depots(connection) if chosen is None else len(chosen),
            models=models.all_models(connection),
            stored=inputs.stored_forecasts(
                connection, request.first, request.last, chosen
            ),
            seconds=inputs.past_seconds(connection),
        )
        current = data_snapshot(connection, request, settings.horizon)
    slots = [
        asdict(replace(slot, position=position))
        for position, slot in enumerate(planner.slots(), start=1)
    ]
    with engine.begin() as connection:
        stored = REQUEST_JSON.dump_python(request, mode="json")
        backfill_id = store.add_plan(connection, stored, current, slots)
    return read_plan(engine, backfill_id)


@dataclass(frozen=True)
class _Planner:
    """The stored state that the slots are planned from.

    Attributes:
      oldest: First day with demand.
      newest: Last day with demand.
      models: Every model, newest first.
      stored: Stored forecasts by origin and model.
      seconds: Past seconds per run of a step, and per row of `hindcast`.
    """

    request: BackfillRequest
    horizon: int
    newest: date
    oldest: date
    n_depots: int
    models: list[Model]
    stored: dict[tuple[date, str], Any]
    seconds: dict[str, float]

    def slots(self) -> Iterator[Slot]:
        """Every slot, in execution order; positions are not set yet."""
        if "train" in self.request.what:
            yield self._training()
        if "forecast" in self.request.what:
            yield from map(self._forecast, self.request.origins)
        if "score" in self.request.what:
            reason = "scores every forecast whose actuals are known"
            estimate_s = self.seconds.get("score")
            yield Slot(0, "score", None, True, reason, estimate_s=estimate_s)

    def _training(self) -> Slot:
        """The training slot, which serves every origin without a model."""
        without_model = [
            day
            for day in self.request.origins
            if self._model(day) is None and not self._kept(day, self._pruned(day))
        ]
        origins = [day for day in without_model if self._has_history(day)]
        if origins:
            reason = (
                "origins without a model that was trained on nothing later: "
                f"{len(origins)}"
            )
            estimate_s = self.seconds.get("train")
            return Slot(0, "train", origins[0], True, reason, estimate_s=estimate_s)
        reason = "every origin has a model that was trained on nothing later"
        if without_model:
            reason = f"no origin without a model has {self._min_days} days of data"
        return Slot(0, "train", None, False, reason, state="skipped")

    def _forecast(self, origin: date) -> Slot:
        is_included, reason, version = self._decide(origin)
        slot = Slot(0, "forecast", origin, is_included, reason, version)
        if not is_included:
            return replace(slot, state="skipped")
        rows = self.n_depots * self.horizon
        per_row_s = self.seconds.get("hindcast")
        slot = replace(
            slot, rows=rows, estimate_s=None if per_row_s is None else rows * per_row_s
        )
        if stored := self.stored.get((origin, version or "")):
            return replace(
                slot, replaced_rows=stored.rows, newest_made_at=stored.newest_made_at
            )
        return slot

    def _decide(self, origin: date) -> tuple[bool, str, str | None]:
        """Whether an origin is included, the reason, and the version of its model."""
        if origin < self.oldest:
            return False, f"there is no data up to {origin}", None
        if origin > self.newest:
            return False, f"the data ends on {self.newest}, before it", None
        model, pruned = self._model(origin), self._pruned(origin)
        # What a pruned model would forecast may be stored already.
        if kept := self._kept(origin, pruned):
            return False, kept, None
        if model is None:
            is_included, reason = self._without_model(origin)
            return is_included, reason + _pruned_on(pruned), None
        version = str(model["version"])
        if kept := self._kept(origin, model):
            return False, kept, version
        qualifier = " whose artefact is kept," if pruned else ""
        reason = (
            f"the newest model{qualifier} trained through {model['trained_through']}"
        )
        return True, reason + _pruned_on(pruned), version

    def _without_model(self, origin: date) -> tuple[bool, str]:
        """Whether an origin without a model can be forecast by this plan, and the reason."""
        if not self._has_history(origin):
            available = f"{self._known_days(origin)} days of data up to {origin}"
            reason = f"and only {available}: training needs {self._min_days}"
            return False, f"{NO_MODEL}, {reason}"
        if "train" in self.request.what:
            return True, "forecast by the model that this plan trains"
        command = f"'harbor train --through {origin}'"
        plan = "plan with --what train,forecast,score"
        return False, f"{TRAIN_ONE} with {command}, or {plan}"

    def _kept(self, origin: date, model: Model | None) -> str | None:
        """Why a model's stored forecast from an origin is kept; None if it can be written."""
        stored = self.stored.get((origin, model["version"])) if model else None
        if stored is None:
            return None
        if stored.live:
            return LIVE_FORECAST_KEPT
        is_complete = stored.rows >= self.n_depots * self.horizon
        if is_complete and self.request.only == "missing":
            return "already there (--only missing)"
        return None

    def _has_history(self, origin: date) -> bool:
        """Whether there is enough history to train a model through an origin."""
        return self._known_days(origin) >= self._min_days

    def _known_days(self, origin: date) -> int:
        return max((origin - self.oldest).days + 1, 0)

    @property
    def _min_days(self) -> int:
        return min_training_days(self.horizon)

    def _model(self, origin: date) -> Model | None:
        """The newest unpruned model trained on nothing after an origin."""
        kept = (model for model in self._eligible(origin) if not model["pruned_at"])
        return next(kept, None)

    def _pruned(self, origin: date) -> Model | None:
        """The newest model trained on nothing after an origin, if it was pruned."""
        newest = next(self._eligible(origin), None)
        return newest if newest and newest["pruned_at"] else None

    def _eligible(self, origin: date) -> Iterator[Model]:
        return (model for model in self.models if model["trained_through"] <= origin)


def _pruned_on(model: Model | None) -> str:
    """Completes a reason where a newer model was skipped because it is pruned."""
    if model is None or model["pruned_at"] is None:
        return ""
    pruned_on = model["pruned_at"].astimezone(UTC).date()
    return f"; the artefact of {model['version']} was pruned on {pruned_on}"
