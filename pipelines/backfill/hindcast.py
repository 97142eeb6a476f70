"""Forecasts past origins, each from the data known in the night after it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from forecaster.inference import infer
from pipelines.backfill.decisions import Decision
from pipelines.demand.panels import PanelsAsKnown
from pipelines.forecasting.forecast import load_recorded
from pipelines.forecasting.forecast_rows import ForecastKey, write_forecast
from pipelines.runs.ledger import Run
from pipelines.settings import Settings
from pipelines.store import models

MAX_ORIGINS = 16
"""Maximum origins of a group; a backfill is stopped, and lets a night go first, between groups."""


@dataclass(frozen=True)
class Group:
    """Due origins of one model, earliest first."""

    version: str
    origins: Sequence[Decision]


def groups_of(due: Sequence[Decision]) -> Iterator[Group]:
    """Yields due origins in groups of one model and at most `MAX_ORIGINS`, earliest first."""
    for version, of_model in groupby(due, lambda each: str(each.model_version)):
        origins = list(of_model)
        for first in range(0, len(origins), MAX_ORIGINS):
            yield Group(version, origins[first : first + MAX_ORIGINS])


def hindcast(
    run: Run,
    settings: Settings,
    panels: PanelsAsKnown,
    group: Group,
    depot_ids: Sequence[str] | None,
    made_at: datetime,
    run_id: int,
) -> Iterator[tuple[Decision, int | None]]:
    """Forecasts a group, and writes each origin in a transaction of its own.

    `panels` must cover every origin of the group. Without `depot_ids`, all depots and the totals
    are written; `made_at` and `run_id` are stored with each forecast.

    Yields:
      Each origin's decision, once it is written, and the number of rows; None if a live forecast
      was kept.

    Raises:
      ArtefactError: the model's file is missing or differs from the recorded one.
    """
    run.metrics |= {"origins": 0, "rows": 0, "model": group.version}
    with run.engine.connect() as connection:
        model = models.model(connection, group.version)
    assert model is not None, "models are never deleted"
    artefact = load_recorded(settings.artefacts, model)
    for decision in group.origins:
        panel = panels.at(decision.origin_on)
        forecast = infer.forecast(artefact, panel, point=settings.point)
        key = ForecastKey(decision.origin_on, group.version, False, made_at, run_id)
        with run.engine.begin() as connection:
            rows = write_forecast(connection, key, forecast, panel, only=depot_ids)
        if rows is not None:
            run.metrics["origins"] += 1
            run.metrics["rows"] += rows
        yield decision, rows
