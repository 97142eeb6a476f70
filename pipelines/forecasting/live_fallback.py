"""Fallback to the baseline for depots whose live forecasts are worse than the naive's.

They get the baseline forecast, without the network's correction, as long as they are
worse. An artefact also has depots gated by its holdout; these are gated by live scores.
"""

from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from forecaster.inference.artefact import Artefact
from forecaster.inference.postprocessing import FALLBACK_MARGIN, MIN_FALLBACK_DAYS
from pipelines.forecasting.live_accuracy import LOOK_BACK_DAYS
from pipelines.store import accuracy as store

MAX_LISTED = 50


def worse_depots(engine: sa.Engine) -> list[str]:
    """Depots with a larger live error than the seasonal naive's over four weeks."""
    with engine.connect() as connection:
        return store.worse_depots(
            connection, LOOK_BACK_DAYS, MIN_FALLBACK_DAYS, FALLBACK_MARGIN
        )


def with_live_fallback(engine: sa.Engine, loaded: Artefact) -> Artefact:
    """Returns the artefact with depots gated by live scores added to its own."""
    gated = {*loaded.postprocessing.fallback_depots, *worse_depots(engine)}
    postprocessing = replace(
        loaded.postprocessing, fallback_depots=tuple(sorted(gated))
    )
    return replace(loaded, postprocessing=postprocessing)


def metrics(loaded: Artefact) -> dict[str, Any]:
    """Run metrics: the number of gated depots and their ids; empty without any."""
    gated = loaded.postprocessing.fallback_depots
    if not gated:
        return {}
    return {"gated": len(gated), "gated_depots": list(gated[:MAX_LISTED])}
