"""Forecasts past origins in groups of one model and the same history, each in one pass.

Origins have the same history if the data known about their common past, and the depots, are
the same at each of them. All are forecast from the panel of the last. A group also includes
origins that are not due, so that a backfill that was interrupted and run again writes the same
numbers as one that was not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby

import sqlalchemy as sa

from forecaster.inference.infer import forecast_origins
from forecaster.inference.predict import MAX_ORIGINS
from pipelines.backfill.decisions import Decision
from pipelines.database.engine import snapshot
from pipelines.demand.panels import PanelsAsKnown
from pipelines.forecasting.forecast import load_recorded
from pipelines.forecasting.forecast_rows import ForecastKey, write_forecast
from pipelines.runs.ledger import Run
from pipelines.settings import Settings
from pipelines.store import backfill, models

Change = tuple[date, date]
"""The first origin at which a change of the data is known, and the earliest day it affects."""


@dataclass(frozen=True)
class Group:
    """Origins of one model with the same history, some of which are due."""

    version: str
    origins: list[Decision]


def groups_of(
    engine: sa.Engine, settings: Settings, origins: Sequence[Decision]
) -> list[Group]:
    """Groups the origins that have a model, and drops groups without a due origin."""
    by_origin = {each.origin_on: each for each in origins if each.model_version}
    if not by_origin:
        return []
    with snapshot(engine) as connection:
        changes = backfill.changes(connection, max(by_origin), settings.zone)
    groups = [
        Group(version, [by_origin[day] for day in days])
        for version, of_model in groupby(
            by_origin, lambda origin: str(by_origin[origin].model_version)
        )
        for days in group_by_history(list(of_model), changes)
    ]
    return [each for each in groups if any(origin.is_due for origin in each.origins)]


def hindcast(
    run: Run,
    settings: Settings,
    panels: PanelsAsKnown,
    group: Group,
    depot_ids: Sequence[str] | None,
    made_at: datetime,
    run_id: int,
    on_written: Callable[[Decision, int | None], None],
) -> None:
    """Forecasts a group, and writes each due origin in a transaction of its own.

    `panels` must cover every origin of the group. Without `depot_ids`, all depots and the totals
    are written; `made_at` and `run_id` are stored with each forecast. `on_written` is called after each
    transaction with the number of rows written, or None if a live forecast was kept.

    Raises:
      ArtefactError: the model's file is missing or differs from the recorded one.
    """
    run.metrics |= {"origins": 0, "rows": 0, "model": group.version}
    with run.engine.connect() as connection:
        model = models.model(connection, group.version)
    assert model is not None, "models are never deleted"
    artefact = load_recorded(settings.artefacts, model)
    by_origin = {each.origin_on: each for each in group.origins}
    origins = list(by_origin)
    panel = panels.at(origins[-1])
    for origin, forecast in forecast_origins(artefact, panel, origins, settings.point):
        if not by_origin[origin].is_due:
            continue
        key = ForecastKey(origin, group.version, False, made_at, run_id)
        with run.engine.begin() as connection:
            rows = write_forecast(connection, key, forecast, panel, only=depot_ids)
        if rows is not None:
            run.metrics["origins"] += 1
            run.metrics["rows"] += rows
        on_written(by_origin[origin], rows)


def group_by_history(
    origins: Sequence[date], changes: Sequence[Change]
) -> list[list[date]]:
    """Groups consecutive origins at which the known data about their common past is the same.

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
    """Whether data about days up to `origin` has changed between `origin` and `later`."""
    return any(
        origin < first_to_know <= later and earliest_on <= origin
        for first_to_know, earliest_on in changes
    )
