"""Runs the forecast slots of a plan: grouped by model and vintage, written one by one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import groupby

import pyarrow as pa
import sqlalchemy as sa

from forecaster.data.panel import Panel
from forecaster.errors import NoModelError
from forecaster.inference.artefact import Artefact
from forecaster.inference.infer import Forecast, forecast_origins
from pipelines.backfill.plan import LIVE_FORECAST_KEPT, Slot
from pipelines.backfill.vintages import Correction, VintageChanges, group_by_vintage
from pipelines.database.engine import snapshot
from pipelines.demand.panels import PanelsAsKnown, first_origin
from pipelines.forecasting import forecast as forecasting
from pipelines.forecasting.forecast_rows import forecast_rows, total_rows
from pipelines.runs.ledger import Run
from pipelines.settings import Settings
from pipelines.store import backfill as store
from pipelines.store import backfill_inputs, models
from pipelines.store import demand as demand_store
from pipelines.store import forecasts as forecast_store
from pipelines.store.models import Model


@dataclass(frozen=True)
class Batch:
    """Forecast slots with the same model and the same vintage of the data."""

    version: str
    # In the requested order.
    slots: tuple[Slot, ...]

    @property
    def origins(self) -> list[date]:
        """Origins of the slots, earliest first."""
        return sorted(slot.origin_on for slot in self.slots if slot.origin_on)

    @property
    def is_newest_first(self) -> bool:
        """Whether the newest origin is forecast first."""
        return self.slots[0].origin_on != self.origins[0]


@dataclass
class Hindcaster:
    """Forecasts batches; reads the counts and each artefact once."""

    engine: sa.Engine
    settings: Settings
    backfill_id: int
    depot_ids: list[str] | None
    now: datetime
    _loaded: dict[str, Artefact] = field(default_factory=dict)
    _panels: PanelsAsKnown | None = None

    def batches(self, slots: Sequence[Slot]) -> list[Batch]:
        """Groups consecutive slots by model and vintage.

        A slot planned without a model gets the newest one trained on nothing later.
        """
        by_origin = {slot.origin_on: slot for slot in slots if slot.origin_on}
        if not by_origin:
            return []
        origins = sorted(by_origin)
        with snapshot(self.engine) as connection:
            known = models.kept_models(connection)
            changes = VintageChanges(
                [
                    Correction(*row)
                    for row in backfill_inputs.corrections(connection, origins[-1])
                ],
                backfill_inputs.announced(connection)
                | {
                    first_origin(moment, self.settings.zone)
                    for moment in backfill_inputs.events_changed(connection)
                },
                self.settings.zone,
            )
        versions = {origin: _version(by_origin[origin], known) for origin in origins}
        step = -1 if slots[0].origin_on == origins[-1] else 1
        return [
            Batch(version or "", tuple(by_origin[day] for day in group[::step]))
            for version, days in groupby(origins, versions.__getitem__)
            for group in group_by_vintage(list(days), changes)
        ][::step]

    def forecast(self, batch: Batch, run: Run, done: Callable[[Slot], None]) -> None:
        """Forecasts and writes a batch, each origin in a transaction of its own.

        Args:
          batch: From `batches`.
          run: The run that records the metrics.
          done: Called with each slot that has ended; may raise to stop, or call
            `invalidate_panels` so that later slots read the counts again.

        Raises:
          NoModelError: the batch has no model.
          ArtefactError: the model's file is missing or differs from the recorded one.
        """
        slots = {slot.origin_on: slot for slot in batch.slots}
        first, last = batch.origins[0], batch.origins[-1]
        if not batch.version:
            raise NoModelError(
                f"No model was trained on days up to {first} alone. Train one with "
                f"'harbor train --through {first}'."
            )
        run.metrics |= {"origins": 0, "rows": 0, "model": batch.version}
        remaining = batch.origins
        while remaining:
            panel = self._panels_through(last).at(last)
            forecasts = forecast_origins(
                self._artefact(batch.version), panel, remaining
            )
            for origin, forecast in (
                reversed(list(forecasts)) if batch.is_newest_first else forecasts
            ):
                self._write(slots[origin], batch.version, panel, forecast, run)
                remaining = [day for day in remaining if day != origin]
                done(slots[origin])
                if self._panels is None:
                    break

    def _write(
        self, slot: Slot, version: str, panel: Panel, forecast: Forecast, run: Run
    ) -> None:
        """Writes one origin's hindcast and ends its slot, in one transaction."""
        origin = slot.origin_on
        assert origin is not None, "a forecast has an origin"
        table = forecast_rows(
            origin, version, panel, forecast,
            live=False, made_at=self.now, run_id=run.run_id,
        )  # fmt: skip
        if self.depot_ids is not None:
            chosen = pa.array(self.depot_ids, pa.string())
            table = table.filter(pa.compute.is_in(table["depot_id"], chosen))
        slot_key = (self.backfill_id, slot.position)
        with run.engine.begin() as connection:
            if not self._replace(connection, origin, version, table, forecast):
                store.skip_slot(connection, *slot_key, run.run_id, LIVE_FORECAST_KEPT)
                return
            store.end_slot(
                connection, *slot_key, "done", run.run_id,
                model_version=version, rows=len(table),
            )  # fmt: skip
        run.metrics["origins"] += 1
        run.metrics["rows"] += len(table)

    def _replace(
        self,
        connection: sa.Connection,
        origin: date,
        version: str,
        table: pa.Table,
        forecast: Forecast,
    ) -> bool:
        """Replaces a stored hindcast; returns False where a live forecast is kept."""
        written = forecast_store.replace_forecasts(
            connection, origin, version, table,
            live=False, made_at=self.now, depot_ids=self.depot_ids,
        )  # fmt: skip
        if written and self.depot_ids is None:
            totals = total_rows(origin, version, forecast)
            forecast_store.replace_totals(connection, origin, version, totals)
        return written

    def _artefact(self, version: str) -> Artefact:
        if version not in self._loaded:
            with self.engine.connect() as connection:
                model = models.model(connection, version)
            assert model is not None, "the plan named it"
            folder = self.settings.artefacts
            self._loaded = {version: forecasting.load_recorded(folder, model)}
        return self._loaded[version]

    def _panels_through(self, last: date) -> PanelsAsKnown:
        """Panels as known at any origin, read once through the newest day of data."""
        if self._panels is None:
            with self.engine.connect() as connection:
                newest = demand_store.last_day(connection)
            last = max(last, newest or last)
            self._panels = PanelsAsKnown(self.engine, last, self.settings.zone)
        return self._panels

    def invalidate_panels(self) -> None:
        """Discards the counts, which a nightly run may have changed."""
        self._panels = None


def _version(slot: Slot, known: Sequence[Model]) -> str | None:
    """Version of the planned model, or of the newest trained on nothing after the origin.

    Args:
      slot: A forecast slot.
      known: Models whose artefacts are stored, newest first.
    """
    if slot.model_version is not None:
        return slot.model_version
    origin = slot.origin_on
    eligible = (model for model in known if model["trained_through"] <= origin)  # type: ignore[operator]
    return next((str(model["version"]) for model in eligible), None)
