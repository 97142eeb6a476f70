"""The canary: a new model forecasts beside the champion before it is promoted."""

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

Timer = Callable[[], float]

MAX_SLOWDOWN = 5.0
"""Maximum ratio of a new model's forecast time to the champion's."""
MIN_LIMIT_S, MIN_LIMIT_PER_DEPOT_S = 5.0, 0.001
"""Time limit at least, in seconds, whatever the champion needs: short times are noisy."""


@dataclass(frozen=True)
class CanaryResult:
    """The result of a canary.

    Args:
      version: Version of the new model.
      beside: Version of the champion; None without a usable one.
      origin: Origin of both forecasts.
      checks: Checks in the order made; a failed one may have ended the canary.
    """

    version: str
    beside: str | None
    origin: date | None
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether the model may be promoted."""
        return all(check.passed for check in self.checks)

    def sentence(self) -> str:
        """The result in one sentence."""
        if self.passed:
            return f"Its canary passed {len(self.checks)} checks."
        failures = "; ".join(each.says for each in self.checks if not each.passed)
        return (
            f"Its canary failed: {failures}. It is not shown; look at it with 'harbor models "
            f"show {self.version}'."
        )

    def to_json(self) -> dict[str, Any]:
        """The result as stored with the run and the model."""
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
    timer: Timer = time.perf_counter,
) -> CanaryResult:
    """Forecasts with a model and the champion and checks the result; nothing is stored.

    Args:
      engine: Database the pipelines own.
      artefacts: Folder of exported models.
      model: The recorded model; its published artefact is used.
      champion: The recorded champion.
      timer: Returns elapsed seconds.
    """
    version = str(model["version"])
    try:
        ours = load_recorded(artefacts, model)
    except ArtefactError as error:
        return CanaryResult(version, None, None, (_unusable(error),))
    origin = counting.default_origin(engine)
    panel = read_panel(engine, origin)
    theirs = _champion(artefacts, champion)
    limit_s = MIN_LIMIT_S + MIN_LIMIT_PER_DEPOT_S * panel.n_depots
    baseline = None
    if theirs is not None:
        baseline, took_s = _forecast(theirs, panel, timer)
        limit_s = max(limit_s, MAX_SLOWDOWN * took_s)
    try:
        challenger, took_s = _forecast(ours, panel, timer)
    except ArtefactError as error:
        return CanaryResult(version, None, origin, (_unusable(error),))
    if took_s > limit_s:
        # Measured again: another program may have slowed the machine.
        took_s = min(took_s, _forecast(ours, panel, timer)[1])
    checks = [
        *forecast_checks.run_checks(challenger, baseline, panel, ours.parity_error),
        _latency(took_s, limit_s),
    ]
    beside = None if theirs is None else theirs.version
    return CanaryResult(version, beside, origin, tuple(checks))


def _champion(artefacts: Path, champion: dict[str, Any] | None) -> Artefact | None:
    """Loads the champion's artefact; None if there is no usable one."""
    try:
        return None if champion is None else load_recorded(artefacts, champion)
    except ArtefactError:
        return None


def _forecast(model: Artefact, panel: Panel, timer: Timer) -> tuple[Forecast, float]:
    started = timer()
    # Overflow from bad weights is checked afterwards, so it is not warned of here.
    with np.errstate(all="ignore"):
        forecast = infer.forecast(model, panel)
    return forecast, timer() - started


def _latency(took_s: float, limit_s: float) -> Check:
    message = f"it forecast in {took_s:.2f} s, of {limit_s:.2f} s allowed"
    return Check("latency", took_s <= limit_s, message)


def _unusable(error: ArtefactError) -> Check:
    return Check("artefact", False, str(error).rstrip("."))
