"""The canary: a trial forecast of a new model, checked against the champion's."""

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
from pipelines.demand.panels import ReadPanels
from pipelines.forecasting.forecast import load_if_usable, load_recorded
from pipelines.store.models import Model


@dataclass(frozen=True)
class CanaryResult:
    """The result of a canary: its checks in order; a failed check may have ended the canary.

    `beside` is the version of the champion it was compared with; None without a usable champion.
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
    model: Model,
    champion: Model | None,
    read_panels: ReadPanels,
) -> CanaryResult:
    """Forecasts with a model and the champion and checks the result; nothing is stored.

    The recorded artefacts are used; a champion whose artefact is unusable is left out. The
    origin is the newest day with demand, or the last origin of the panels if that is earlier.
    """
    version = model["version"]
    try:
        candidate = load_recorded(artefacts, model)
    except ArtefactError as error:
        check = Check("artefact", False, str(error).rstrip("."))
        return CanaryResult(version, None, None, (check,))
    panels = read_panels()
    origin = min(counting.default_origin(engine), panels.last_origin)
    panel = panels.with_newest_counts(origin)
    loaded = load_if_usable(artefacts, champion)
    champion_forecast = None if loaded is None else _forecast(loaded, panel)
    forecast = _forecast(candidate, panel)
    checks = tuple(
        forecast_checks.run_checks(
            forecast, champion_forecast, panel, candidate.parity_error
        )
    )
    beside = None if loaded is None else loaded.version
    return CanaryResult(version, beside, origin, checks)


def _forecast(model: Artefact, panel: Panel) -> Forecast:
    # Overflow from bad weights gives no warnings: the checks that follow find it.
    with np.errstate(all="ignore"):
        return infer.forecast(model, panel)
