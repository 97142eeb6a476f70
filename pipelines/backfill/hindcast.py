"""The forecast slots of a plan: grouped by model and knowledge, and written one by one."""

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
from pipelines.store import backfill_inputs as ground
from pipelines.store import demand as demand_store
from pipelines.store import forecasts as forecast_store
from pipelines.store import models


@dataclass(frozen=True)
class Batch:
    """Slots whose origins one model serves, and which knew the same."""

    version: str
    # In the order in which they are wanted.
    slots: tuple[Slot, ...]

    @property
    def origins(self) -> list[date]:
        """Earliest first."""
        return sorted(slot.origin_on for slot in self.slots if slot.origin_on)

    @property
    def is_newest_first(self) -> bool:
        """Whether the last origin is wanted first."""
        return self.slots[0].origin_on != self.origins[0]


@dataclass
class Hindcaster:
    """Forecasts batch after batch, reading the counts once and each artefact once."""

    engine: sa.Engine
    settings: Settings
    backfill_id: int
    depot_ids: list[str] | None
    now: datetime
    _loaded: dict[str, Artefact] = field(default_factory=dict)
    _panels: PanelsAsKnown | None = None

    def batches(self, slots: Sequence[Slot]) -> list[Batch]:
        """Slots in order, cut where the model or what was known changes.

        A slot whose model the plan did not know yet gets the newest that may serve it.
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
                    for row in ground.corrections(connection, origins[-1])
                ],
                ground.announced(connection)
                | {
                    first_origin(moment, self.settings.zone)
                    for moment in ground.events_changed(connection)
                },
                self.settings.zone,
            )
        versions = {origin: _version(by_origin[origin], known) for origin in origins}
        step = -1 if slots[0].origin_on == origins[-1] else 1
        return [
            Batch(version or "", tuple(by_origin[day] for day in same[::step]))
            for version, days in groupby(origins, versions.__getitem__)
            for same in group_by_vintage(list(days), changes)
        ][::step]

    def forecast(self, batch: Batch, run: Run, done: Callable[[Slot], None]) -> None:
        """Forecasts and writes a batch, each origin in a transaction of its own.

        Args:
          batch: From `batches`.
          run: The ledger's row.
          done: Told of each slot once it has ended; may raise to stop, or have `forget`
            read the counts anew for the slots after it.

        Raises:
          NoModelError: no model may serve it.
          ArtefactError: the model's file is missing or not what was recorded.
        """
        slots = {slot.origin_on: slot for slot in batch.slots}
        first, last = batch.origins[0], batch.origins[-1]
        if not batch.version:
            raise NoModelError(
                f"No model was trained on days up to {first} alone. Train one with "
                f"'harbor train --through {first}'."
            )
        run.metrics |= {"origins": 0, "rows": 0, "model": batch.version}
        left = batch.origins
        while left:
            panel = self._panels_through(last).at(last)
            swept = forecast_origins(self._artefact(batch.version), panel, left)
            for origin, made in (
                reversed(list(swept)) if batch.is_newest_first else swept
            ):
                self._write(slots[origin], batch.version, panel, made, run)
                left = [day for day in left if day != origin]
                done(slots[origin])
                if self._panels is None:
                    break

    def _write(
        self, slot: Slot, version: str, panel: Panel, made: Forecast, run: Run
    ) -> None:
        """Writes one origin's hindcast and ends its slot, in one transaction."""
        origin = slot.origin_on
        assert origin is not None, "a forecast has an origin"
        table = forecast_rows(
            origin, version, panel, made,
            live=False, made_at=self.now, run_id=run.run_id,
        )  # fmt: skip
        if self.depot_ids is not None:
            chosen = pa.array(self.depot_ids, pa.string())
            table = table.filter(pa.compute.is_in(table["depot_id"], chosen))
        slot_key = (self.backfill_id, slot.number)
        with run.engine.begin() as connection:
            if not self._replace(connection, origin, version, table, made):
                store.leave_slot_out(
                    connection, *slot_key, run.run_id, LIVE_FORECAST_KEPT
                )
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
        made: Forecast,
    ) -> bool:
        """Whether the hindcast was written: a live forecast stays."""
        written = forecast_store.replace_forecasts(
            connection, origin, version, table,
            live=False, made_at=self.now, depot_ids=self.depot_ids,
        )  # fmt: skip
        if written and self.depot_ids is None:
            totals = total_rows(origin, version, made)
            forecast_store.replace_totals(connection, origin, version, totals)
        return written

    def _artefact(self, version: str) -> Artefact:
        if version not in self._loaded:
            with self.engine.connect() as connection:
                model = models.model(connection, version)
            assert model is not None, "it was found a moment ago"
            folder = self.settings.artefacts
            self._loaded = {version: forecasting.load_recorded(folder, model)}
        return self._loaded[version]

    def _panels_through(self, last: date) -> PanelsAsKnown:
        """Every version of the counts, read once for the newest origin there is."""
        if self._panels is None:
            with self.engine.connect() as connection:
                newest = demand_store.last_day(connection)
            last = max(last, newest or last)
            self._panels = PanelsAsKnown(self.engine, last, self.settings.zone)
        return self._panels

    def forget(self) -> None:
        """Reads the counts anew next time: a night may have come in between."""
        self._panels = None


def _version(slot: Slot, known: Sequence[dict[str, object]]) -> str | None:
    """The planned model, or the newest that saw nothing after the slot's origin.

    Args:
      slot: Of a forecast.
      known: Models whose artefacts are kept, newest first.
    """
    if slot.model_version is not None:
        return slot.model_version
    origin = slot.origin_on
    fitting = (each for each in known if each["trained_through"] <= origin)  # type: ignore[operator]
    return next((str(each["version"]) for each in fitting), None)
