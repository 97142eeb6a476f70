"""The naive gate: depots whose live forecasts were worse than the seasonal naive's.

They get the plain forecast, without the network's correction, until they are not worse
any more. An artefact has a gate of its own, by days that its fit had not seen; this one
is by what was shown since.
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
    """Depots that missed more than the seasonal naive over four weeks of live forecasts."""
    with engine.connect() as connection:
        return store.worse_depots(
            connection, LOOK_BACK_DAYS, MIN_FALLBACK_DAYS, FALLBACK_MARGIN
        )


def with_live_fallback(engine: sa.Engine, loaded: Artefact) -> Artefact:
    """The artefact with the depots gated that the live scores gate, beside its own."""
    gated = {*loaded.postprocessing.fallback_depots, *worse_depots(engine)}
    postprocessing = replace(
        loaded.postprocessing, fallback_depots=tuple(sorted(gated))
    )
    return replace(loaded, postprocessing=postprocessing)


def metrics(loaded: Artefact) -> dict[str, Any]:
    """For the ledger: how many depots are gated, and which; nothing where none is."""
    gated = loaded.postprocessing.fallback_depots
    if not gated:
        return {}
    return {"gated": len(gated), "gated_depots": list(gated[:MAX_LISTED])}
