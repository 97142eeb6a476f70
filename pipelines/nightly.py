"""The night, as a list of steps; each may be repeated."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import sqlalchemy as sa

from forecaster.errors import NothingToDoError
from pipelines import demand, forecasting, judging, scoring, training
from pipelines.fencing import LostRunError, take_over
from pipelines.ingest import Reading, ingest
from pipelines.ledger import Run, recorded
from pipelines.settings import Settings
from pipelines.store import runs
from pipelines.store.locks import HeldLock, try_lock
from pipelines.training import Reports

NIGHT_LOCK = 0x4E49_4748  # "NIGH"


TAKEN_OVER = (
    "It lost the database session that held its lock, and another night has begun. What "
    "it wrote before is whole; the other night goes on from there."
)


@dataclass
class Night:
    """One night: what its steps share, and what they found out."""

    engine: sa.Engine
    settings: Settings
    now: datetime
    # The last day a forecast may see; without one, the last complete day in the data.
    origin: date | None
    report: Reports

    @property
    def day(self) -> date:
        """The origin, once the night has settled on it."""
        assert self.origin is not None, "demand was counted"
        return self.origin


def ingest_inbox(night: Night, run: Run) -> None:
    """Loads what has come into the inbox; an empty one is no failure."""
    night.settings.inbox.mkdir(parents=True, exist_ok=True)
    if not any(night.settings.inbox.iterdir()):
        run.counts["files"] = 0
        return
    report = ingest(run.engine, [str(night.settings.inbox)], Reading(), night.settings)
    run.counts |= {"files": len(report.files), "refused": len(report.refused)}


def count_demand(night: Night, run: Run) -> None:
    """Counts orders per depot and local day."""
    change = demand.rebuild(run.engine, night.now)
    run.counts |= {"new": change.new, "corrected": change.corrected}


def score(night: Night, run: Run) -> None:
    """Scores the forecasts whose days are now known."""
    run.counts["scored"] = scoring.score_known_days(run.engine, night.settings.zone)


def train(night: Night, run: Run) -> None:
    """Trains a challenger through the origin."""
    recipe = training.recipe_of(night.settings, seed=None, epochs=None)
    training.train(run.engine, night.settings, night.day, recipe, night.report, run)


def judge(_: Night, run: Run) -> None:
    """Decides on the challenger, and promotes it if it deserves it."""
    try:
        verdict = judging.judge(run.engine)
    except NothingToDoError as nothing:
        run.counts["reason"] = str(nothing)
        return
    run.counts |= {"promoted": verdict.promoted, "reason": verdict.reason}


def forecast(night: Night, run: Run) -> None:
    """Forecasts from the origin with the champion."""
    forecasting.forecast_from(
        run.engine,
        night.settings.artefacts,
        night.day,
        night.now,
        night.settings.zone,
        run,
    )


STEPS: dict[str, Callable[[Night, Run], None]] = {
    "ingest": ingest_inbox,
    "demand": count_demand,
    "score": score,
    "train": train,
    "judge": judge,
    "forecast": forecast,
}
"""In the order of the night; judging promotes."""

FORGIVEN = {"train", "judge"}
"""Steps whose failure does not cost the forecast: the champion there is makes it."""


def run_night(night: Night) -> dict[str, Any]:
    """Runs every step, each recorded beneath the night's own row.

    Returns:
      The origin, and what each step counted.

    Raises:
      NothingToDoError: the night of this origin is done, or another one runs now.
    """
    with try_lock(night.engine, NIGHT_LOCK) as lock:
        if lock is None:
            raise NothingToDoError(
                "Another nightly run is at work. See 'harbor runs list'."
            )
        take_over(night.engine, "nightly", TAKEN_OVER)
        return _run_steps(night, lock)


def _run_steps(night: Night, lock: HeldLock) -> dict[str, Any]:
    counts: dict[str, Any] = {}
    failure: Exception | None = None
    _refuse_second(night)
    with recorded(night.engine, "nightly", night.origin, lock=lock) as whole:
        for name in STEPS:
            try:
                counts[name] = _run_step(night, name, whole)
            except Exception as error:  # noqa: BLE001 - recorded, and raised below
                failure = failure or error
                if name not in FORGIVEN or isinstance(error, LostRunError):
                    raise failure from None
            if name == "demand":
                _settle_day(night, whole)
        whole.counts["origin"] = night.day.isoformat()
        if failure is not None:
            raise failure
    return {"origin": night.day.isoformat(), "run_id": whole.run_id, "steps": counts}


def _run_step(night: Night, name: str, whole: Run) -> dict[str, Any]:
    with recorded(night.engine, name, night.origin, parent=whole) as run:
        STEPS[name](night, run)
    return run.counts


def _settle_day(night: Night, whole: Run) -> None:
    """Fixes the origin once, however much comes in during the night.

    Raises:
      NothingToDoError: its night is done, and nothing has come in since.
    """
    if night.origin is not None:
        return
    night.origin = demand.default_origin(night.engine)
    with night.engine.begin() as connection:
        runs.set_origin(connection, whole.run_id, night.origin)
        done = runs.night_without_news(connection, night.origin)
    if done is not None:
        raise _done_already(night.origin, done)


def _refuse_second(night: Night) -> None:
    """A night that is done for a given origin is not done again."""
    if night.origin is None:
        return
    with night.engine.connect() as connection:
        done = runs.finished_night(connection, night.origin)
    if done is not None:
        raise _done_already(night.origin, done)


def _done_already(origin: date, run_id: int) -> NothingToDoError:
    return NothingToDoError(
        f"The night of {origin} is done (run {run_id}). See 'harbor runs show "
        f"{run_id}'; 'harbor forecast --origin {origin}' forecasts anew."
    )
