"""Plans a backfill: every slot (a step for one origin) with its action and the reason."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date
from typing import Any, NamedTuple

import sqlalchemy as sa

from forecaster.config import min_training_days
from pipelines.backfill.plan import (
    LIVE_FORECAST_KEPT,
    BackfillPlan,
    ReasonCode,
    Slot,
    data_fingerprint,
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

    Raises:
      NoDataError: there is no demand, or a requested depot is unknown.
    """
    with snapshot(engine) as connection:
        last_day_on = counting.newest_demand_day(connection)
        chosen = request.depot_ids(connection)
        n_depots = inputs.count_depots(connection)
        newest_origin_on = inputs.newest_origin(connection)
        planner = _Planner(
            request=request,
            horizon=settings.horizon,
            last_day_on=last_day_on,
            is_part=chosen is not None and len(chosen) < n_depots,
            newest_origin_on=newest_origin_on or date.min,
            first_day_on=inputs.first_observed(connection) or last_day_on,
            n_depots=n_depots if chosen is None else len(chosen),
            models=models.all_models(connection),
            stored=inputs.stored_forecasts(
                connection, request.first, request.last, chosen
            ),
            seconds=inputs.past_seconds(connection),
        )
        current = data_fingerprint(connection, request, settings.horizon)
    slots = [
        asdict(replace(slot, position=position))
        for position, slot in enumerate(planner.slots(), start=1)
    ]
    with engine.begin() as connection:
        stored = REQUEST_JSON.dump_python(request, mode="json")
        backfill_id = store.add_plan(connection, stored, current, slots)
    return read_plan(engine, backfill_id)


NEWEST_DAY = (
    "the pages would show it as the newest forecast, without the other depots. Forecast all "
    "of them with 'harbor forecast', or plan without --depot and --city"
)
NO_MODEL = "no usable model was trained only on days up to this origin"


class _Decision(NamedTuple):
    """Whether an origin is forecast, why, and the version of its model."""

    is_included: bool
    reason_code: ReasonCode
    reason: str
    version: str | None = None


@dataclass(frozen=True)
class _Planner:
    """The stored state that the slots are planned from.

    There is demand from `first_day_on` to `last_day_on`, and pages show the forecast from
    `newest_origin_on` (the earliest date there is, without any). The plan is for `n_depots`; `is_part` if that is not the whole fleet.
    Models come newest first, stored forecasts by origin and model, past seconds by step (of
    `hindcast` by row).
    """

    request: BackfillRequest
    horizon: int
    last_day_on: date
    is_part: bool
    newest_origin_on: date
    first_day_on: date
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
            yield Slot(
                0, "score", None, True, "actuals_known", reason, estimate_s=estimate_s
            )

    def _training(self) -> Slot:
        """The training slot, which serves every origin without a model."""
        without_model = [
            day
            for day in self.request.origins
            if day <= self.last_day_on
            and self._model(day) is None
            and self._stored_decision(day, self._pruned(day)) is None
        ]
        origins = [day for day in without_model if self._has_history(day)]
        if origins:
            reason = (
                "origins without a model that was trained on nothing later: "
                f"{len(origins)}"
            )
            estimate_s = self.seconds.get("train")
            return Slot(
                0, "train", origins[0], True, "no_model", reason, estimate_s=estimate_s
            )
        code: ReasonCode = "no_model_needed"
        reason = (
            "every origin with data has a model that was trained on nothing later, or a "
            "forecast that is kept"
        )
        if without_model:
            code = "too_little_history"
            reason = f"no origin without a model has {self._min_days} days of data"
        return Slot(0, "train", None, False, code, reason, state="skipped")

    def _forecast(self, origin: date) -> Slot:
        decision = self._decide(origin)
        version = decision.version
        slot = Slot(
            0, "forecast", origin, decision.is_included, decision.reason_code,
            decision.reason, version,
        )  # fmt: skip
        if not decision.is_included:
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

    def _never_forecast(self, origin: date) -> _Decision | None:
        """The decision on an origin that is not forecast whatever the models."""
        if origin < self.first_day_on:
            return _Decision(False, "before_data", f"there is no data up to {origin}")
        if origin > self.last_day_on:
            reason = f"the data ends on {self.last_day_on}, before it"
            return _Decision(False, "after_data", reason)
        # A champion of today may have no forecast of the newest origin yet.
        if self.is_part and origin >= self.newest_origin_on:
            return _Decision(False, "newest_day", NEWEST_DAY)
        return None

    def _decide(self, origin: date) -> _Decision:
        if decision := self._never_forecast(origin):
            return decision
        model, pruned = self._model(origin), self._pruned(origin)
        # What a pruned model would forecast may be stored already.
        if decision := self._stored_decision(origin, pruned):
            return decision
        if model is None:
            decision = self._decide_without_model(origin)
            return decision._replace(reason=decision.reason + _pruned_on(pruned))
        version = str(model["version"])
        if decision := self._stored_decision(origin, model):
            return decision._replace(version=version)
        qualifier = " whose artefact is kept," if pruned else ""
        reason = (
            f"the newest model{qualifier} trained through {model['trained_through']}"
        )
        return _Decision(True, "newest_model", reason + _pruned_on(pruned), version)

    def _decide_without_model(self, origin: date) -> _Decision:
        """Decides whether this plan can forecast an origin that has no model yet."""
        if not self._has_history(origin):
            available = f"{self._days_of_data(origin)} days of data up to {origin}"
            reason = f"and only {available}: training needs {self._min_days}"
            return _Decision(False, "too_little_history", f"{NO_MODEL}, {reason}")
        if "train" in self.request.what:
            reason = "forecast by the model that this plan trains"
            return _Decision(True, "model_trained_by_plan", reason)
        command = f"'harbor train --through {origin}'"
        plan = "plan with --what train,forecast,score"
        reason = f"{NO_MODEL}. Train one with {command}, or {plan}"
        return _Decision(False, "no_model", reason)

    def _stored_decision(self, origin: date, model: Model | None) -> _Decision | None:
        """The decision to keep a model's stored forecast; None if it can be written."""
        stored = self.stored.get((origin, model["version"])) if model else None
        if stored is None:
            return None
        if stored.live:
            return _Decision(False, "live_forecast", LIVE_FORECAST_KEPT)
        is_complete = stored.rows >= self.n_depots * self.horizon
        if is_complete and self.request.only == "missing":
            return _Decision(False, "forecast_stored", "already there (--only missing)")
        return None

    def _has_history(self, origin: date) -> bool:
        return self._days_of_data(origin) >= self._min_days

    def _days_of_data(self, origin: date) -> int:
        return max((origin - self.first_day_on).days + 1, 0)

    @property
    def _min_days(self) -> int:
        return min_training_days(self.horizon)

    def _model(self, origin: date) -> Model | None:
        """The newest unpruned model trained on nothing after an origin."""
        kept = (model for model in self._eligible(origin) if not model["pruned_at"])
        return next(kept, None)

    def _pruned(self, origin: date) -> Model | None:
        """The newest model trained on nothing after an origin, if it was pruned."""
        newest_model = next(self._eligible(origin), None)
        return newest_model if newest_model and newest_model["pruned_at"] else None

    def _eligible(self, origin: date) -> Iterator[Model]:
        return (model for model in self.models if model["trained_through"] <= origin)


def _pruned_on(model: Model | None) -> str:
    """Completes a reason where a newer model was skipped because it is pruned."""
    if model is None or model["pruned_at"] is None:
        return ""
    pruned_on = model["pruned_at"].astimezone(UTC).date()
    return f"; the artefact of {model['version']} was pruned on {pruned_on}"
