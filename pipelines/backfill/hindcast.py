"""Runs the forecast slots of a plan: grouped by model and vintage, written one by one.

A vintage is what was known at an origin. Origins share one if the last of them knew the same
of their common past as the others did, and had the same depots; they are forecast in one pass
over its panel.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby

import sqlalchemy as sa

from forecaster.data.panel import Panel
from forecaster.errors import NoModelError
from forecaster.inference.artefact import Artefact
from forecaster.inference.infer import Forecast, forecast_origins
from forecaster.inference.predict import MAX_ORIGINS
from pipelines.backfill.plan import LIVE_FORECAST_KEPT, Slot
from pipelines.database.engine import snapshot
from pipelines.demand.panels import PanelsAsKnown
from pipelines.forecasting.forecast import load_recorded
from pipelines.forecasting.forecast_rows import ForecastKey, write_forecast
from pipelines.runs.ledger import Run
from pipelines.settings import Settings
from pipelines.settings.days import first_origin
from pipelines.store import backfill as store
from pipelines.store import backfill_inputs, models

Change = tuple[date, date]
"""The first origin that knows of a correction, and the earliest day that it concerns."""


@dataclass
class Hindcaster:
    """Forecasts batches of slots; reads the counts and each artefact once."""

    engine: sa.Engine
    settings: Settings
    backfill_id: int
    depot_ids: list[str] | None
    now: datetime
    _version: str | None = None
    _artefact: Artefact | None = None
    _panels: PanelsAsKnown | None = None

    def batches(self, slots: Sequence[Slot]) -> list[tuple[str | None, list[Slot]]]:
        """Groups consecutive slots by model and vintage.

        A slot planned without a model gets the newest one trained on nothing later.
        """
        by_origin = {slot.origin_on: slot for slot in slots if slot.origin_on}
        if not by_origin:
            return []
        with snapshot(self.engine) as connection:
            changes = self._changes(connection, max(by_origin))
            versions = {
                origin: slot.model_version or _newest_model(connection, origin)
                for origin, slot in by_origin.items()
            }
        return [
            (version, [by_origin[origin] for origin in group])
            for version, origins in groupby(by_origin, versions.__getitem__)
            for group in group_by_vintage(list(origins), changes)
        ]

    def _changes(self, connection: sa.Connection, last: date) -> list[Change]:
        zone = self.settings.zone
        corrections = backfill_inputs.corrections(connection, last)
        return [
            *((first_origin(known_at, zone), day) for known_at, day in corrections),
            *((day, date.min) for day in backfill_inputs.announced(connection)),
            *((day, date.min) for day in backfill_inputs.first_counts(connection)),
        ]

    def forecast(
        self, version: str | None, slots: Sequence[Slot], run: Run
    ) -> Iterator[Slot]:
        """Forecasts a batch of `batches`; yields each slot after its transaction.

        Raises:
          NoModelError: the batch has no model.
          ArtefactError: the model's file is missing or differs from the recorded one.
        """
        by_origin = {slot.origin_on: slot for slot in slots if slot.origin_on}
        origins = list(by_origin)
        if version is None:
            raise NoModelError(
                f"No model was trained on days up to {origins[0]} alone. Train one with "
                f"'harbor train --through {origins[0]}'."
            )
        run.metrics |= {"origins": 0, "rows": 0, "model": version}
        panel = self._panels_through(origins[-1]).at(origins[-1])
        artefact = self._load(version)
        point = self.settings.point
        for origin, forecast in forecast_origins(artefact, panel, origins, point):
            self._write(origin, by_origin[origin], version, panel, forecast, run)
            yield by_origin[origin]

    def discard_panels(self) -> None:
        """Discards the counts, which a nightly run may have changed."""
        self._panels = None

    def _write(
        self,
        origin: date,
        slot: Slot,
        version: str,
        panel: Panel,
        forecast: Forecast,
        run: Run,
    ) -> None:
        """Writes one origin's hindcast and ends its slot, in one transaction."""
        key = ForecastKey(origin, version, False, self.now, run.run_id)
        slot_key = (self.backfill_id, slot.position)
        with run.engine.begin() as connection:
            rows = write_forecast(
                connection, key, forecast, panel.depot_ids, only=self.depot_ids
            )
            if rows is None:
                store.finish_slot(
                    connection, *slot_key, state="skipped", run_id=run.run_id,
                    is_included=False, reason_code="live_forecast", reason=LIVE_FORECAST_KEPT, rows=0,
                )  # fmt: skip
                return
            store.finish_slot(
                connection, *slot_key, state="done", run_id=run.run_id,
                model_version=version, rows=rows,
            )  # fmt: skip
        run.metrics["origins"] += 1
        run.metrics["rows"] += rows

    def _load(self, version: str) -> Artefact:
        if self._artefact is None or version != self._version:
            with self.engine.connect() as connection:
                model = models.model(connection, version)
            assert model is not None, "the plan named it"
            self._artefact = load_recorded(self.settings.artefacts, model)
            self._version = version
        return self._artefact

    def _panels_through(self, last: date) -> PanelsAsKnown:
        """Panels as known at any origin, read once through the newest day of data."""
        if self._panels is None:
            self._panels = PanelsAsKnown.through_newest(
                self.engine, last, self.settings.zone
            )
        return self._panels


def _newest_model(connection: sa.Connection, origin: date) -> str | None:
    model = models.newest_trained_through(connection, origin)
    return model and model["version"]


def group_by_vintage(
    origins: Sequence[date], changes: Sequence[Change]
) -> list[list[date]]:
    """Groups consecutive origins that have the same data for their common past.

    A group spans at most `MAX_ORIGINS` days.
    """
    groups: list[list[date]] = []
    for origin in origins:
        if (
            groups
            and (origin - groups[-1][0]).days < MAX_ORIGINS
            and not has_change_between(changes, groups[-1][-1], origin)
        ):
            groups[-1].append(origin)
        else:
            groups.append([origin])
    return groups


def has_change_between(changes: Sequence[Change], origin: date, later: date) -> bool:
    """Whether the later origin has other data for the days up to the earlier one."""
    return any(
        origin < first_to_know <= later and earliest_on <= origin
        for first_to_know, earliest_on in changes
    )
