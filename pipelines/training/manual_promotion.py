"""Makes a model the champion by hand: `harbor models` and the dashboard."""

from pathlib import Path

import sqlalchemy as sa

from forecaster.errors import BadInputError, NoModelError, NothingToDoError
from pipelines.forecasting import forecast
from pipelines.store import models
from pipelines.store.models import Model
from pipelines.training import canary


def promote(
    engine: sa.Engine,
    artefacts: Path,
    version: str,
    reason: str,
    *,
    unchecked: bool = False,
) -> None:
    """Makes a model the champion, if its artefact is intact.

    A model that was never champion first makes a trial forecast, its canary, whose result
    is stored.

    Args:
      engine: Database the pipelines own.
      artefacts: Folder of exported models.
      version: Version of the model.
      reason: Stored with the model.
      unchecked: Promotes it without a canary.

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
    forecast.load_recorded(artefacts, model)
    if model["promoted_at"] is None and not unchecked:
        _require_canary(engine, artefacts, model)
    _set_champion(engine, artefacts, model, reason)


def roll_back(engine: sa.Engine, artefacts: Path, reason: str) -> str:
    """Makes the previous champion the champion again, and returns its version.

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
    _set_champion(engine, artefacts, previous, reason)
    return previous["version"]


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


def _require_canary(engine: sa.Engine, artefacts: Path, model: Model) -> None:
    with engine.connect() as connection:
        champion = models.champion(connection)
    result = canary.run_canary(engine, artefacts, model, champion)
    with engine.begin() as connection:
        models.set_canary(connection, model["version"], result.to_json())
    if not result.passed:
        raise BadInputError(
            f"{result.sentence()} 'harbor models promote {model['version']} --unchecked' "
            "promotes it all the same."
        )


def _set_champion(
    engine: sa.Engine, artefacts: Path, model: Model, reason: str
) -> None:
    forecast.load_recorded(artefacts, model)
    version = model["version"]
    with engine.begin() as connection:
        promoted = models.promote(connection, version, reason)
    if not promoted:
        # Pruned while its file was read.
        forecast.require_kept(read(engine, version))
