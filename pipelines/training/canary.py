"""A new model forecasts beside the champion before it takes its place."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from forecaster.data.panel import Panel
from forecaster.errors import ArtefactError
from forecaster.inference import forecast_checks, infer
from forecaster.inference.artefact import Artefact
from forecaster.inference.forecast_checks import Check
from forecaster.inference.infer import Forecast
from pipelines.demand import counting
from pipelines.demand.panels import read_panel
from pipelines.forecasting.forecast import load_recorded

Clock = Callable[[], float]

TIMES_AS_SLOW = 5.0
"""A new model may need so many times what the champion needs for the same forecast."""
PATIENCE_S, PATIENCE_PER_DEPOT_S = 5.0, 0.001
"""What it may need at least, whatever the champion needs: small times are mostly noise."""


@dataclass(frozen=True)
class CanaryResult:
    """How a new model did beside the champion.

    Args:
      version: Of the new model.
      beside: Of the champion; None where there was none to be had.
      origin: Both forecast from.
      checks: In the order in which they were made; the last one may have ended it.
    """

    version: str
    beside: str | None
    origin: date | None
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether it may be shown."""
        return all(check.passed for check in self.checks)

    def sentence(self) -> str:
        """What came of it."""
        if self.passed:
            return f"Its canary passed {len(self.checks)} checks."
        wrong = "; ".join(each.says for each in self.checks if not each.passed)
        return (
            f"Its canary failed: {wrong}. It is not shown; look at it with 'harbor models "
            f"show {self.version}'."
        )

    def to_json(self) -> dict[str, Any]:
        """For the ledger, and beside the model's scores."""
        return {
            "passed": self.passed,
            "beside": self.beside,
            "origin": None if self.origin is None else self.origin.isoformat(),
            "checks": [check._asdict() for check in self.checks],
        }


def run_canary(
    engine: sa.Engine,
    artefacts: Path,
    model: dict[str, Any],
    champion: dict[str, Any] | None,
    clock: Clock = time.perf_counter,
) -> CanaryResult:
    """Has a model forecast the newest days beside the champion; nothing is written.

    Args:
      engine: Database the pipelines own.
      artefacts: Folder of exported models.
      model: As recorded; its published file is what is tried.
      champion: As recorded.
      clock: Seconds that pass.
    """
    version = str(model["version"])
    try:
        ours = load_recorded(artefacts, model)
    except ArtefactError as error:
        return CanaryResult(version, None, None, (_unusable(error),))
    origin = counting.default_origin(engine)
    panel = read_panel(engine, origin)
    theirs = _champion(artefacts, champion)
    limit_s = PATIENCE_S + PATIENCE_PER_DEPOT_S * panel.n_depots
    shown = None
    if theirs is not None:
        shown, took_s = _forecast(theirs, panel, clock)
        limit_s = max(limit_s, TIMES_AS_SLOW * took_s)
    try:
        said, took_s = _forecast(ours, panel, clock)
    except ArtefactError as error:
        return CanaryResult(version, None, origin, (_unusable(error),))
    if took_s > limit_s:
        # Once more: another program may have had the machine.
        took_s = min(took_s, _forecast(ours, panel, clock)[1])
    checks = [
        *forecast_checks.run_checks(said, shown, panel, ours.parity_error),
        _latency(took_s, limit_s),
    ]
    beside = None if theirs is None else theirs.version
    return CanaryResult(version, beside, origin, tuple(checks))


def _champion(artefacts: Path, champion: dict[str, Any] | None) -> Artefact | None:
    """None where there is none, or its file is gone: there is nothing to be beside."""
    try:
        return None if champion is None else load_recorded(artefacts, champion)
    except ArtefactError:
        return None


def _forecast(model: Artefact, panel: Panel, clock: Clock) -> tuple[Forecast, float]:
    began = clock()
    # What comes of wild weights is looked at afterwards, not warned of meanwhile.
    with np.errstate(all="ignore"):
        said = infer.forecast(model, panel)
    return said, clock() - began


def _latency(took_s: float, limit_s: float) -> Check:
    says = f"it forecast in {took_s:.2f} s, of {limit_s:.2f} s allowed"
    return Check("latency", took_s <= limit_s, says)


def _unusable(error: ArtefactError) -> Check:
    return Check("artefact", False, str(error).rstrip("."))
