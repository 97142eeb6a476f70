"""Makes a model the champion by hand, for `harbor models`."""

from dataclasses import dataclass
from datetime import date, datetime

import sqlalchemy as sa

from forecaster.errors import BadInputError, NoModelError, NothingToDoError
from pipelines.demand import counting
from pipelines.demand.panels import shared_panels
from pipelines.forecasting import forecast
from pipelines.settings import Settings
from pipelines.store import models
from pipelines.store.models import Model
from pipelines.training import canary


@dataclass(frozen=True)
class NewChampion:
    """A model that was made champion.

    Attributes:
      shown_from: Origin of its forecast that is shown now; None if none of its forecasts is.
    """

    version: str
    shown_from: date | None

    def sentence(self) -> str:
        """A sentence on which forecast is shown."""
        if self.shown_from is None:
            return (
                "The pages go on showing the forecast that they show until 'harbor forecast' or "
                "the next night makes one with this model."
            )
        return f"Its forecast from {self.shown_from} is shown until the next is made."


def promote(
    engine: sa.Engine,
    settings: Settings,
    version: str,
    reason: str,
    now: datetime,
    *,
    unchecked: bool = False,
) -> NewChampion:
    """Makes a model the champion, if its artefact is intact.

    A model that was never champion must first pass a trial forecast, its canary, unless
    `unchecked`; the result is stored. If the model has a stored forecast from the origin that is
    shown, the pages show that forecast from now on. The reason is stored with the model.

    Raises:
      NoModelError: there is no such model.
      BadInputError: it is an evaluation fit, or its canary fails.
      ArtefactError: its artefact is missing, damaged or pruned.
    """
    model = read(engine, version)
    if model["role"] == "evaluation":
        raise BadInputError(
            f"{version} is the evaluation fit of a challenger and serves "
            "hindcasts only. Promote the challenger itself."
        )
    forecast.load_recorded(settings.artefacts, model)
    if model["promoted_at"] is None and not unchecked:
        _require_canary(engine, settings, model)
    return _set_champion(engine, settings, model, reason, now)


def roll_back(
    engine: sa.Engine, settings: Settings, reason: str, now: datetime
) -> NewChampion:
    """Makes the previous champion the champion again, and shows its forecast as `promote` does.

    Raises:
      NothingToDoError: there is no previous champion.
      ArtefactError: its artefact is missing, damaged or pruned.
    """
    with engine.connect() as connection:
        previous = models.rollback_target(connection)
    if previous is None:
        raise NothingToDoError(
            "There is no earlier champion to go back to. See 'harbor models list'."
        )
    return _set_champion(engine, settings, previous, reason, now)


def read(engine: sa.Engine, version: str) -> Model:
    """Reads a model.

    Raises:
      NoModelError: there is no such model.
    """
    with engine.connect() as connection:
        model = models.model(connection, version)
    if model is None:
        raise NoModelError(f"There is no model {version}. See 'harbor models list'.")
    return model


def _require_canary(engine: sa.Engine, settings: Settings, model: Model) -> None:
    with engine.connect() as connection:
        champion = models.champion(connection)
    panels = shared_panels(engine, counting.default_origin(engine), settings.zone)
    result = canary.run_canary(engine, settings.artefacts, model, champion, panels)
    with engine.begin() as connection:
        models.set_canary(connection, model["version"], result.to_json())
    if not result.passed:
        raise BadInputError(
            f"{result.sentence()} 'harbor models promote {model['version']} --unchecked' "
            "promotes it all the same."
        )


def _set_champion(
    engine: sa.Engine, settings: Settings, model: Model, reason: str, now: datetime
) -> NewChampion:
    forecast.load_recorded(settings.artefacts, model)
    version = model["version"]
    with engine.begin() as connection:
        if models.promote(connection, version, reason):
            shown_from = forecast.show_stored(connection, version, now, settings.zone)
            return NewChampion(version, shown_from)
    # The model was pruned while its file was read.
    forecast.require_kept(read(engine, version))
    raise AssertionError("only a pruned model cannot be promoted")
