"""Hindcasts: forecasts as they would have been, for a stretch of past origins."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import sqlalchemy as sa

from forecaster import infer
from forecaster.artefact import Artefact
from forecaster.errors import BadInputError, HarborError, NoModelError
from pipelines import forecasting, scoring
from pipelines.ledger import Run
from pipelines.panels import PanelsAsKnown
from pipelines.settings import Settings
from pipelines.store import models


@dataclass(frozen=True)
class Slot:
    """One origin of a backfill: forecast by `model`, or left out for a reason."""

    origin: date
    model: str | None
    reason: str


def run_backfill(
    engine: sa.Engine,
    settings: Settings,
    first: date,
    last: date,
    now: datetime,
    run: Run,
    report: Callable[[Slot], None] = lambda _: None,
) -> list[Slot]:
    """Hindcasts every origin between two days, then scores them.

    Each origin uses the newest model that saw nothing after it, and only the counts that
    were known in the night after it. An origin that no model may serve is left out, and
    says so.

    Args:
      engine: Database the pipelines own.
      settings: For the folders and the zone.
      first: First origin.
      last: Last origin.
      now: Time of the run.
      run: The ledger's row.
      report: Told of each origin when it is done.

    Raises:
      BadInputError: `last` lies before `first`.
      NoModelError: no origin could be forecast.
    """
    if last < first:
        raise BadInputError(
            f"--to is {last}, but must not lie before --from ({first}). Swap them."
        )
    panels = PanelsAsKnown(engine, last, settings.zone)
    hindcaster = _Hindcaster(engine, settings, panels, now, run)
    slots = []
    for day in range((last - first).days + 1):
        slots.append(hindcaster.hindcast(first + timedelta(days=day)))
        report(slots[-1])
    scored = scoring.score_known_days(engine, settings.zone)
    made = sum(slot.model is not None for slot in slots)
    run.counts |= {"made": made, "left_out": len(slots) - made, "scored": scored}
    if made == 0:
        raise NoModelError(f"No origin was forecast. {slots[0].reason}")
    return slots


@dataclass
class _Hindcaster:
    """Forecasts origin after origin, loading each artefact once."""

    engine: sa.Engine
    settings: Settings
    panels: PanelsAsKnown
    now: datetime
    run: Run

    def __post_init__(self) -> None:
        self.loaded: dict[str, Artefact] = {}

    def hindcast(self, origin: date) -> Slot:
        """One origin, or the reason why not."""
        with self.engine.connect() as connection:
            model = models.newest_trained_through(connection, origin)
        if model is None:
            return Slot(
                origin,
                None,
                f"Every model has seen days after {origin}. Train one with 'harbor train "
                f"--through {origin}'.",
            )
        version = str(model["version"])
        try:
            if version not in self.loaded:
                self.loaded[version] = forecasting.load_recorded(
                    self.settings.artefacts, model
                )
            panel = self.panels.at(origin)
            made = infer.forecast(self.loaded[version], panel)
        except HarborError as error:
            return Slot(origin, None, str(error))
        zone = self.settings.zone
        forecasting.write(self.engine, panel, made, version, self.now, zone, self.run)
        return Slot(origin, version, f"trained through {model['trained_through']}")
