"""Plans a backfill: every slot with its action and the reason."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, date, timedelta
from typing import Any

import sqlalchemy as sa

from forecaster.config import min_training_days
from pipelines.backfill.plan import (
    LIVE_FORECAST_KEPT,
    NO_MODEL,
    TRAIN_ONE,
    BackfillPlan,
    Slot,
    read_plan,
)
from pipelines.backfill.request import BackfillRequest
from pipelines.database.engine import snapshot
from pipelines.demand import counting
from pipelines.settings import Settings
from pipelines.store import backfill as store
from pipelines.store import backfill_inputs, models, plan_snapshot
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
    until = request.last + timedelta(days=settings.horizon)
    with snapshot(engine) as connection:
        newest = counting.newest_demand_day(connection)
        slots = _Layout.read(connection, settings, request, newest).slots()
        state = plan_snapshot.current(connection, request.last, until)
    rows = [asdict(slot) for slot in slots]
    with engine.begin() as connection:
        backfill_id = store.add_plan(connection, request.to_json(), state, rows)
        return read_plan(connection, backfill_id)


@dataclass(frozen=True)
class _Layout:
    """The stored state that the slots are planned from."""

    connection: sa.Connection
    request: BackfillRequest
    horizon: int
    # Newest first.
    models: list[Model]
    stored: dict[tuple[date, str], Any]
    failed: dict[date, str]
    depot_ids: list[str] | None
    n_depots: int
    first_observed: date | None
    newest: date
    seconds_per_row: float | None

    @classmethod
    def read(
        cls,
        connection: sa.Connection,
        settings: Settings,
        request: BackfillRequest,
        newest: date,
    ) -> "_Layout":
        chosen = request.depot_ids(connection)
        return cls(
            connection=connection,
            request=request,
            horizon=settings.horizon,
            models=models.all_models(connection),
            stored=backfill_inputs.held_forecasts(
                connection, request.first, request.last, chosen
            ),
            failed=backfill_inputs.failed_before(
                connection, request.first, request.last
            ),
            depot_ids=chosen,
            n_depots=(
                backfill_inputs.count_depots(connection)
                if chosen is None
                else len(chosen)
            ),
            first_observed=backfill_inputs.first_observed(connection),
            newest=newest,
            seconds_per_row=backfill_inputs.seconds_a_row(connection),
        )

    def slots(self) -> list[Slot]:
        """Every slot, in execution order."""
        rows = [
            *self._shared("ingest", "loads the new files of the inbox"),
            *self._shared("demand", "counts demand again"),
            *self._training(),
            *self._forecasts(),
            *self._shared("score", "scores every forecast whose actuals are known"),
        ]
        return [
            Slot(number, *row[:-1], **row[-1])
            for number, row in enumerate(rows, start=1)
        ]

    def _shared(self, step: str, reason: str) -> Iterator[tuple[Any, ...]]:
        """The slot of a step that is run once for all origins."""
        if step in self.request.what:
            estimate_s = backfill_inputs.seconds_a_run(self.connection, step)
            yield step, None, True, reason, {"estimate_s": estimate_s}

    def _training(self) -> Iterator[tuple[Any, ...]]:
        """The training slot, which serves every origin without a model."""
        if "train" not in self.request.what:
            return
        without_model = [
            day
            for day in self.request.origins
            if self._model(day) is None and not self._kept_by_pruned(day)
        ]
        origins = [day for day in without_model if self._has_enough_history(day)]
        estimate_s = backfill_inputs.seconds_a_run(self.connection, "train")
        if not origins:
            reason = "every origin has a model that was trained on nothing later"
            if without_model:
                reason = f"no origin without a model has {self._min_days} days of data"
            yield "train", None, False, reason, {"state": "skipped"}
            return
        reason = (
            f"origins without a model that was trained on nothing later: {len(origins)}"
        )
        yield "train", min(origins), True, reason, {"estimate_s": estimate_s}

    def _forecasts(self) -> Iterator[tuple[Any, ...]]:
        if "forecast" not in self.request.what:
            return
        for origin in self.request.origins:
            reason, is_included, model = self._decide(origin)
            stored = self.stored.get((origin, model or ""))
            rows = self.n_depots * self.horizon if is_included else 0
            estimate_s = (
                None if self.seconds_per_row is None else rows * self.seconds_per_row
            )
            fields = {
                "model_version": model,
                "rows": rows,
                "estimate_s": estimate_s if is_included else None,
                "replaced_rows": stored.rows if is_included and stored else 0,
                "newest_made_at": stored.newest_made_at
                if is_included and stored
                else None,
                "state": "waiting" if is_included else "skipped",
            }
            yield "forecast", origin, is_included, reason, fields

    def _decide(self, origin: date) -> tuple[str, bool, str | None]:
        """The reason, whether the origin is included, and the version of its model."""
        if not self._is_observed(origin):
            return f"there is no data up to {origin}", False, None
        if origin > self.newest:
            return f"the data ends on {self.newest}, before it", False, None
        if kept := self._kept_by_pruned(origin):
            return kept, False, None
        model, pruned = self._model(origin), self._pruned(origin)
        if model is None:
            reason, is_eligible = self._without_model(origin)
            reason += _pruned_on(pruned)
            if not is_eligible:
                return reason, False, None
            return *self._if_requested(origin, None, reason), None
        version = str(model["version"])
        qualifier = "" if pruned is None else " whose artefact is kept,"
        reason = (
            f"the newest model{qualifier} trained through {model['trained_through']}"
        )
        reason += _pruned_on(pruned)
        return *self._if_requested(origin, version, reason), version

    def _without_model(self, origin: date) -> tuple[str, bool]:
        """The reason, and whether an origin without a model can be forecast by this plan."""
        if not self._has_enough_history(origin):
            available = f"{self._known_days(origin)} days of data up to {origin}"
            return (
                f"{NO_MODEL}, and only {available}: training needs {self._min_days}",
                False,
            )
        if "train" in self.request.what:
            return "forecast by the model that this plan trains", True
        command = f"{TRAIN_ONE} with 'harbor train --through {origin}', or plan with "
        return f"{command}--what train,forecast,score", False

    def _if_requested(
        self, origin: date, version: str | None, reason: str
    ) -> tuple[str, bool]:
        """Applies `--only` to an origin that could be forecast."""
        if kept := self._kept_reason(origin, version or ""):
            return kept, False
        if self.request.only == "failed" and origin not in self.failed:
            return "has not failed (--only failed)", False
        if self.request.only == "failed":
            return f"failed before: {self.failed[origin]}", True
        return reason, True

    def _kept_reason(self, origin: date, version: str) -> str | None:
        """Why a model's stored forecast from an origin is kept; None if it can be written."""
        stored = self.stored.get((origin, version))
        if stored is None:
            return None
        if stored.live:
            return LIVE_FORECAST_KEPT
        is_complete = stored.rows >= self.n_depots * self.horizon
        if is_complete and self.request.only == "missing":
            return "already there (--only missing)"
        return None

    def _kept_by_pruned(self, origin: date) -> str | None:
        """As `_kept_reason`, for the model that would forecast if it were not pruned."""
        pruned = self._pruned(origin)
        return None if pruned is None else self._kept_reason(origin, pruned["version"])

    def _is_observed(self, origin: date) -> bool:
        return self.first_observed is not None and self.first_observed <= origin

    def _has_enough_history(self, origin: date) -> bool:
        """Whether there is enough history to train a model through an origin."""
        return self._known_days(origin) >= self._min_days

    def _known_days(self, origin: date) -> int:
        """Number of days of data up to an origin."""
        if self.first_observed is None:
            return 0
        return max((origin - self.first_observed).days + 1, 0)

    @property
    def _min_days(self) -> int:
        return min_training_days(self.horizon)

    def _model(self, origin: date) -> Model | None:
        """The newest unpruned model trained on nothing after an origin."""
        eligible = (
            model for model in self.models if model["trained_through"] <= origin
        )
        return next((model for model in eligible if model["pruned_at"] is None), None)

    def _pruned(self, origin: date) -> Model | None:
        """The newest model trained on nothing after an origin, if it was pruned."""
        eligible = (
            model for model in self.models if model["trained_through"] <= origin
        )
        newest = next(eligible, None)
        return newest if newest is not None and newest["pruned_at"] else None


def _pruned_on(model: Model | None) -> str:
    """Completes a reason where a newer model was skipped because it is pruned."""
    if model is None or model["pruned_at"] is None:
        return ""
    pruned_on = model["pruned_at"].astimezone(UTC).date()
    return f"; the artefact of {model['version']} was pruned on {pruned_on}"
