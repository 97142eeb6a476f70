"""Forecasts from one origin with one model, and stores the result."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import sqlalchemy as sa
import structlog

from forecaster.data.panel import Panel
from forecaster.errors import ArtefactError, NoModelError
from forecaster.inference import artefact, infer
from forecaster.inference.artefact import Artefact
from forecaster.inference.infer import Forecast
from pipelines.database.engine import snapshot
from pipelines.demand import counting
from pipelines.demand.feed_freshness import Lateness
from pipelines.demand.panels import ReadPanels
from pipelines.forecasting.forecast_rows import ForecastKey, write_forecast
from pipelines.runs.ledger import Run
from pipelines.runs.metrics import measure_inference
from pipelines.settings import Settings
from pipelines.store import demand as demand_store
from pipelines.store import depots, models, publications
from pipelines.store.models import Model

log = structlog.get_logger()

# A forecast made more than this many hours after the origin's local day has ended is a hindcast.
LIVE_HOURS = 36


def forecast_from(
    run: Run, settings: Settings, origin: date, now: datetime, read_panels: ReadPanels
) -> str:
    """Forecasts every depot with the champion, and returns the version of the model used.

    Safe to repeat: the forecasts of one origin and model are replaced together.

    A forecast from the newest day with demand is published: the pages show it from then on. If
    the champion was trained on later days, which were withdrawn, or its file cannot be used, the
    last usable former champion makes the forecast; a model that was never champion does not. If
    all champions were trained on later days, the forecast last published from the origin is shown
    again. A forecast from an earlier day is a hindcast: stored, not shown, and made by the
    champion or, if that was trained on later days, by the newest model that was not.

    The run records the metrics; for a live forecast, the late feeds; and a reason if a former
    champion replaces one with an unusable file, or an earlier forecast is shown again.

    Raises:
      NoModelError: no model is eligible for that origin.
      ArtefactError: no model's file can be used; the message is about the first choice, whose file
        is missing, invalid or not the recorded one.
      NoDataError: there is no demand up to the origin.
    """
    counting.require_recent_demand(run.engine, origin)
    with snapshot(run.engine) as connection:
        last_day_on = counting.newest_demand_day(connection)
        is_shown = origin >= last_day_on
        choices = (
            models.servable(connection, origin)
            if is_shown
            else [model_for(connection, origin)]
        )
        live = is_live(origin, last_day_on, now, settings.zone)
    if not choices:
        return _show_again(run, origin, now, settings.zone)
    version, loaded = _load_first_usable(settings.artefacts, choices, run)
    panels = read_panels()
    panel = panels.with_newest_counts(origin) if live else panels.at(origin)
    # As known when the panels were read: they lack data that has arrived since, too.
    missing = panels.lateness.missing_days if live else {}
    if live:
        record_late_feeds(panels.lateness, run)
    with measure_inference(run):
        result = infer.forecast(loaded, panel, missing, settings.point)
    _write(run, panel, result, version, now, settings.zone, is_shown=is_shown)
    with run.engine.connect() as connection:
        described = depots.depot_ids(connection)
    if not_started := sorted(described - {*panel.depot_ids}):
        run.metrics["not_started"] = len(not_started)
        run.metrics["not_started_ids"] = not_started
    return version


def _load_first_usable(
    artefacts: Path, choices: list[Model], run: Run
) -> tuple[str, Artefact]:
    """Loads the first usable artefact; if it is not the first model's, the run records why.

    Returns:
      The model's version, and the artefact.

    Raises:
      ArtefactError: no artefact can be used; the error of the first model.
    """
    first = choices[0]
    try:
        return str(first["version"]), load_recorded(artefacts, first)
    except ArtefactError as error:
        found = first_usable(artefacts, choices[1:])
        if found is None:
            raise
        model, loaded = found
        reason = f"{error} Former champion {model['version']} made the forecast."
        log.warning("former_champion_forecasts", reason=reason)
        run.metrics["reason"] = reason
        return str(model["version"]), loaded


def record_late_feeds(late: Lateness, run: Run) -> None:
    """Records which feeds lack the origin's orders."""
    run.metrics |= late.metrics()
    if late.is_late:
        log.warning("feed_late", reason=late.sentence())


def show_stored(
    connection: sa.Connection, version: str, now: datetime, zone: ZoneInfo
) -> date | None:
    """Publishes a new champion's forecast from the origin that is shown, if it is stored.

    Must be called in the transaction that makes the model champion.

    Returns:
      The origin; None if no forecast of this model is shown.
    """
    publications.lock(connection)
    shown = publications.shown(connection)
    if shown is None:
        return None
    stored = replace(shown, model_version=version)
    last_day_on = demand_store.last_day(connection)
    live = is_live(shown.origin_on, last_day_on, now, zone)
    if stored == shown or publications.publish_stored(
        connection, stored, live=live, now=now
    ):
        return shown.origin_on
    return None


def _show_again(run: Run, origin: date, now: datetime, zone: ZoneInfo) -> str:
    """Publishes again the forecast last published from an origin; returns its model's version.

    Raises:
      NoModelError: there is no champion, or no published forecast from the origin is stored.
    """
    with run.engine.begin() as connection:
        publications.lock(connection)
        if models.champion(connection) is None:
            raise NoModelError(
                "No champion has been promoted. Train one with 'harbor train', or promote one "
                "with 'harbor models promote VERSION'."
            )
        stored = publications.last_of_origin(connection, origin)
        live = is_live(origin, demand_store.last_day(connection), now, zone)
        if stored is None or not publications.publish_stored(
            connection, stored, live=live, now=now
        ):
            raise NoModelError(
                f"Every champion whose artefact is kept has seen days after {origin}, so "
                "none may make the forecast that is shown. 'harbor train --through "
                f"{origin}' trains a model and makes it champion if it passes."
            )
    reason = (
        f"Every champion whose artefact is kept has seen days after {origin}, so the "
        f"earlier forecast from there, by model {stored.model_version}, is shown again."
    )
    log.warning("forecast_shown_again", reason=reason)
    run.metrics |= {"model": stored.model_version, "reason": reason}
    return stored.model_version


def model_for(connection: sa.Connection, origin: date) -> Model:
    """Returns the model for a hindcast: the champion, or the newest not trained on later days.

    Raises:
      NoModelError: no model is eligible.
    """
    champion = models.champion(connection)
    if champion is not None and champion["trained_through"] <= origin:
        return champion
    model = models.newest_trained_through(connection, origin)
    if model is not None:
        return model
    raise NoModelError(
        f"Every model whose artefact is kept was rejected, or has seen days after {origin}, "
        f"so none may forecast from there. Train one with 'harbor train --through {origin}'."
    )


def require_kept(model: Model) -> None:
    """Rejects a model whose artefact was pruned.

    Raises:
      ArtefactError: the artefact was pruned.
    """
    if model["pruned_at"] is not None:
        raise ArtefactError(
            f"The artefact of {model['version']} was pruned on "
            f"{model['pruned_at'].astimezone(UTC):%Y-%m-%d}, as nothing needed it any "
            "more (HARBOR_KEEP_ARTEFACTS_DAYS). Take another of 'harbor models list', or "
            f"train one with 'harbor train --through {model['trained_through']}'."
        )


def load_recorded(artefacts: Path, model: Model) -> Artefact:
    """Loads a model's artefact and verifies its checksum.

    Raises:
      ArtefactError: it is missing, invalid, not the recorded file, or pruned.
    """
    require_kept(model)
    path = artefacts / str(model["filename"])
    return artefact.load(path, str(model["sha256"]))


def load_if_usable(artefacts: Path, model: Model | None) -> Artefact | None:
    """Loads a model's artefact; if it cannot be used, logs a warning and returns None."""
    try:
        return None if model is None else load_recorded(artefacts, model)
    except ArtefactError as error:
        log.warning("artefact_not_used", reason=str(error))
        return None


def first_usable(
    artefacts: Path, choices: Iterable[Model]
) -> tuple[Model, Artefact] | None:
    """Finds the first of the models whose artefact can be used; None if none can."""
    for model in choices:
        if loaded := load_if_usable(artefacts, model):
            return model, loaded
    return None


def _write(
    run: Run,
    panel: Panel,
    forecast: Forecast,
    version: str,
    now: datetime,
    zone: ZoneInfo,
    *,
    is_shown: bool,
) -> None:
    """Stores the forecasts of one origin, and publishes them if `is_shown`, in one transaction.

    A stored live forecast is kept if this one is a hindcast or was made earlier.
    """
    with run.engine.begin() as connection:
        live = is_live(panel.origin, demand_store.last_day(connection), now, zone)
        key = ForecastKey(panel.origin, version, live, now, run.run_id)
        rows = write_forecast(connection, key, forecast, panel)
        if is_shown and not publications.publish(
            connection, panel.origin, version, live=live, now=now, run_id=run.run_id
        ):
            log.warning("later_forecast_stays", origin=str(panel.origin), model=version)
        if rows is None:
            log.warning("live_forecast_stays", origin=str(panel.origin), model=version)
            return
    run.metrics |= {"depots": panel.n_depots, "model": version, "live": live}


def is_live(
    origin: date, last_day_on: date | None, now: datetime, zone: ZoneInfo
) -> bool:
    """Whether a forecast made now from an origin counts as live.

    A forecast from an origin before `last_day_on`, the newest day of known demand, is always a
    hindcast.
    """
    if last_day_on is not None and origin < last_day_on:
        return False
    day_ended = datetime.combine(origin + timedelta(days=1), datetime.min.time(), zone)
    # In UTC, because adding hours to a local time ignores clock changes.
    return now <= day_ended.astimezone(UTC) + timedelta(hours=LIVE_HOURS)
