"""Decides what a backfill does at each origin, and why; writes nothing."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any, Literal

import sqlalchemy as sa

from forecaster.config import min_training_days
from forecaster.inference.artefact_file import SCHEMA, manifest_of
from pipelines.backfill.request import BackfillRequest
from pipelines.database.engine import snapshot
from pipelines.demand import counting
from pipelines.demand.panels import MAX_CALENDAR_DAYS_AHEAD
from pipelines.settings import Settings
from pipelines.store import backfill, demand, depots, models, publications
from pipelines.store.backfill import Arrival, StoredForecast
from pipelines.store.models import Model

LIVE_FORECAST_KEPT = "already has that model's live forecast, which is never replaced"
NEWEST_DAY = (
    "the pages would show it as the newest forecast, without the other depots. Forecast all "
    "of them with 'harbor forecast', or leave --depot and --city out"
)
NOT_STARTED = "none of the chosen depots had orders up to this origin"
NO_MODEL = "no usable model was trained only on days up to this origin"
ReasonCode = Literal[
    "no_data",
    "newest_day",
    "not_started",
    "too_little_history",
    "no_model",
    "live_forecast",
    "unchanged",
    "model_to_train",
    "missing",
    "data_changed",
    "again",
]
"""Why an origin is forecast or skipped; `Decision.reason` is the sentence for people."""


@dataclass(frozen=True)
class Decision:
    """The decision of a backfill on one origin.

    Args:
      is_due: Whether the origin is forecast; otherwise it is left as it is.
      reason: The reason as a sentence for people.
      model_version: The model for this origin; None if there is none, or none yet.
      rows: Number of rows to be written: depots times horizon.
      replaced_rows: Number of stored rows that they replace.
    """

    origin_on: date
    is_due: bool
    reason_code: ReasonCode
    reason: str
    model_version: str | None = None
    rows: int = 0
    replaced_rows: int = 0


@dataclass(frozen=True)
class Decisions:
    """The decisions of a backfill on all of its origins.

    Args:
      origins: One decision per origin, earliest first.
      depot_ids: The chosen depots; None for every depot.
      train_through: Last training day of the model to be trained; None if none is needed.
    """

    origins: tuple[Decision, ...]
    depot_ids: list[str] | None
    train_through: date | None

    @property
    def due(self) -> list[Decision]:
        """Decisions on the origins to be forecast."""
        return [decision for decision in self.origins if decision.is_due]


def decide(
    engine: sa.Engine,
    settings: Settings,
    request: BackfillRequest,
    written: Collection[date] = (),
) -> Decisions:
    """Decides what is done at each origin of a request, from one snapshot.

    `request.again` does not apply to origins in `written`, which this backfill has forecast.

    Raises:
      NoDataError: there is no demand, or a requested depot is unknown.
    """
    with snapshot(engine) as connection:
        last_day_on = counting.newest_demand_day(connection)
        chosen = request.depot_ids(connection)
        if chosen is not None and depots.depot_ids(connection) == {*chosen}:
            chosen = None
        newest_origin_on = backfill.newest_origin(connection)
        shown = publications.shown(connection)
        started_days = backfill.started_days(connection, chosen)
        started_on = None
        if chosen is not None:
            started_on = min(started_days, default=date.max)
        stored = backfill.stored_forecasts(
            connection, request.first, request.last, chosen
        )
        arrivals: Sequence[Arrival] = ()
        if read := [each.data_as_of for each in stored.values() if each.data_as_of]:
            # Data that arrived after the oldest stored forecast had read its own.
            arrivals = backfill.arrivals(
                connection, min(read), request.last, MAX_CALENDAR_DAYS_AHEAD,
                settings.zone,
            )  # fmt: skip
        decider = _Decider(
            request=request,
            horizon=settings.horizon,
            last_day_on=last_day_on,
            started_on=started_on,
            newest_origin_on=newest_origin_on or date.min,
            shown_origin_on=shown.origin_on if shown else None,
            first_day_on=demand.first_day(connection) or last_day_on,
            started_days=started_days,
            models=models.all_models(connection),
            stored=stored,
            arrivals=arrivals,
            manifest_of=cache(
                lambda filename: manifest_of(settings.artefacts / filename)
            ),
            written=written,
        )
    origins = tuple(map(decider.decide, request.origins))
    untrained = (
        each.origin_on for each in origins if each.reason_code == "model_to_train"
    )
    return Decisions(origins, chosen, next(untrained, None))


@dataclass(frozen=True)
class _Decider:
    """The request and the stored state that determine the decisions.

    Demand covers `first_day_on` to `last_day_on`. The newest forecast is from `newest_origin_on`
    (`date.min` if there is none), and pages show the one from `shown_origin_on`. The depots of
    the backfill begin on `started_days`, sorted; `started_on` is the first, None for the whole
    fleet. `models` are newest first; `stored` is by origin and version.
    `manifest_of` returns the manifest of the artefact file with a name, None if it has none.
    """

    request: BackfillRequest
    horizon: int
    last_day_on: date
    started_on: date | None
    newest_origin_on: date
    shown_origin_on: date | None
    first_day_on: date
    started_days: Sequence[date]
    models: list[Model]
    stored: dict[tuple[date, str], StoredForecast]
    arrivals: Sequence[Arrival]
    manifest_of: Callable[[str], dict[str, Any] | None]
    written: Collection[date]

    def decide(self, origin: date) -> Decision:
        """Returns the decision on one origin."""
        if decision := self._never_forecast(origin):
            return decision
        model = self._model(origin)
        if model is None:
            return self._decide_without_model(origin)
        version = str(model["version"])
        stored = self.stored.get((origin, version))
        if stored and stored.is_live:
            return Decision(origin, False, "live_forecast", LIVE_FORECAST_KEPT, version)
        code, reason = self._compare(origin, stored)
        if not self._is_readable(model):
            reason = "already there, and its model's artefact is pruned or of another release"
            code = "unchanged"
        if code == "unchanged":
            return Decision(origin, False, code, reason, version)
        return Decision(
            origin_on=origin,
            is_due=True,
            reason_code=code,
            reason=f"{reason}: the newest usable model, through {model['trained_through']}",
            model_version=version,
            rows=self._rows(origin, model),
            replaced_rows=stored.rows if stored else 0,
        )

    def _never_forecast(self, origin: date) -> Decision | None:
        """Returns the decision on an origin that no model may forecast; None for any other."""
        if not self.first_day_on <= origin <= self.last_day_on:
            reason = f"the data is of {self.first_day_on} to {self.last_day_on}"
            return Decision(origin, False, "no_data", reason)
        # The newest origin is included: a new champion may have no forecast from it yet.
        if self.started_on is not None and (
            origin >= self.newest_origin_on or origin == self.shown_origin_on
        ):
            return Decision(origin, False, "newest_day", NEWEST_DAY)
        if self.started_on is not None and origin < self.started_on:
            return Decision(origin, False, "not_started", NOT_STARTED)
        return None

    def _compare(
        self, origin: date, stored: StoredForecast | None
    ) -> tuple[ReasonCode, str]:
        """Returns why the model's forecasts are made or replaced, or that they are unchanged."""
        if stored is None:
            return "missing", "not there yet"
        if self.request.again and origin not in self.written:
            return "again", "--again"
        if not stored.is_complete:
            return "missing", "depots or the totals are missing"
        if stored.data_as_of is None or any(
            arrival.arrived_at > stored.data_as_of and arrival.first_origin_on <= origin
            for arrival in self.arrivals
        ):
            return "data_changed", "data known at this origin has arrived since"
        return "unchanged", "already there, with the same model and data"

    def _rows(self, origin: date, model: Model | None) -> int:
        """Rows of a forecast: one for each depot that has started, and day ahead."""
        manifest = self.manifest_of(model["filename"]) if model else None
        horizon = manifest["task"]["horizon"] if manifest else self.horizon
        return bisect_right(self.started_days, origin) * int(horizon)

    def _decide_without_model(self, origin: date) -> Decision:
        """Decides whether an origin without a model can get one."""
        n_days = (origin - self.first_day_on).days + 1
        min_days = min_training_days(self.horizon)
        if n_days < min_days:
            reason = (
                f"{NO_MODEL}, and only {n_days} days of data up to {origin}: training "
                f"needs {min_days}"
            )
            return Decision(origin, False, "too_little_history", reason)
        if self.request.train:
            rows = self._rows(origin, None)
            reason = "by the model that --train trains first"
            return Decision(origin, True, "model_to_train", reason, rows=rows)
        command = f"'harbor train --through {origin}'"
        reason = f"{NO_MODEL}. Train one with {command}, or add --train"
        return Decision(origin, False, "no_model", reason)

    def _model(self, origin: date) -> Model | None:
        """Returns the newest usable model, not rejected, trained only on days up to the origin.

        A model whose artefact was pruned, or is of another release, is usable only if its
        stored forecasts from the origin are kept.
        """
        usable = (
            model
            for model in self.models
            if model["trained_through"] <= origin
            and model["role"] != "rejected"
            and self._is_usable(origin, model)
        )
        return next(usable, None)

    def _is_usable(self, origin: date, model: Model) -> bool:
        if self._is_readable(model):
            return True
        stored = self.stored.get((origin, model["version"]))
        if stored is None:
            return False
        return stored.is_live or (stored.is_complete and not self.request.again)

    def _is_readable(self, model: Model) -> bool:
        if model["pruned_at"] is not None:
            return False
        manifest = self.manifest_of(model["filename"])
        return manifest is None or bool(manifest["schema"] == SCHEMA)
