"""Explains the forecast that is shown for a depot, for the command line."""

from dataclasses import dataclass
from datetime import date

import sqlalchemy as sa

from forecaster.errors import BadInputError, NoDataError, NoModelError, shortened_list
from forecaster.inference import explain
from forecaster.inference.explain import Explanation
from pipelines.database.engine import snapshot
from pipelines.demand.panels import PanelsAsKnown
from pipelines.forecasting.forecast import load_recorded
from pipelines.schema import shown_forecast
from pipelines.settings import Settings
from pipelines.store import depots, models, publications
from pipelines.store.forecasts import read_forecasts


@dataclass(frozen=True)
class ExplainedForecast:
    """Explanations of a depot's days ahead; the parts of a day add up to its planned number."""

    depot_id: str
    origin_on: date
    model_version: str
    days: tuple[Explanation, ...]


def explain_shown(
    engine: sa.Engine, settings: Settings, depot_id: str
) -> ExplainedForecast:
    """Explains the forecast that the pages show, by running its model once more.

    Corrections of data since the forecast was made are shown as a separate part, and so is a
    planner's change.

    Raises:
      NoModelError: no forecast is shown.
      BadInputError: there is no such depot.
      NoDataError: the depot is not in the forecast.
      ArtefactError: the model's file is missing, or was pruned.
    """
    with snapshot(engine) as connection:
        shown = publications.shown(connection)
        known = depots.depot_ids(connection)
        if shown is None:
            raise NoModelError(
                "No forecast is shown yet. Make one with 'harbor forecast'."
            )
        if depot_id not in known:
            raise BadInputError(
                f"There is no depot {depot_id!r} among {shortened_list(sorted(known))}. See "
                "'harbor depots list'."
            )
        origin, version = shown.origin_on, shown.model_version
        every = read_forecasts(connection, origin, version)
        rows = {row["target_on"]: row for row in every if row["depot_id"] == depot_id}
        model = models.model(connection, version)
        live = connection.scalar(sa.select(shown_forecast.c.is_live))
    if not rows or model is None:
        raise NoDataError(
            f"{depot_id} is not in the forecast from {origin}: it had not started. See "
            "'harbor depots list'."
        )
    panels = PanelsAsKnown(engine, origin, settings.zone)
    panel = panels.with_newest_counts(origin) if live else panels.at(origin)
    artefact = load_recorded(settings.artefacts, model)
    days = tuple(
        each.reaching(rows[each.target_on]["point"], explain.CORRECTED).reaching(
            rows[each.target_on]["planned"], explain.PLANNER
        )
        for each in explain.explain(artefact, panel, depot_id, settings.point)
        if each.target_on in rows
    )
    return ExplainedForecast(depot_id, origin, version, days)
