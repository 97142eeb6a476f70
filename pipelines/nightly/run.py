"""The night: its steps in order, one night at a time, once for an origin and its data."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from forecaster.errors import NothingToDoError
from pipelines.demand import counting
from pipelines.nightly import steps
from pipelines.nightly.steps import OPTIONAL_STEPS, NightlyRun
from pipelines.runs.error_messages import describe_error
from pipelines.runs.fencing import LostRunError, take_over
from pipelines.runs.ledger import Run, recorded
from pipelines.store import runs
from pipelines.store.locks import HeldLock, try_lock

NIGHTLY_LOCK = 0x4E49_4748  # "NIGH"
TAKEN_OVER = (
    "It was killed, or lost the database session that held its lock, and another "
    "night has begun. What it stored before is complete; the other night continues "
    "from there."
)


def run_nightly(night: NightlyRun) -> dict[str, Any]:
    """Runs every step, each recorded beneath the night's own row.

    A night that broke off is run again like any other: what is done is not done anew.

    Returns:
      The origin, and what each step counted.

    Raises:
      NothingToDoError: the night of this origin is done and nothing has come in since,
        or another one runs now.
      LostRunError: it lost its lock; what it had published before stays.
      ExceptionGroup: several steps failed; what costs the forecast is told first.
    """
    with try_lock(night.engine, NIGHTLY_LOCK) as lock:
        if lock is None:
            raise NothingToDoError(
                "Another nightly run is in progress. See 'harbor runs follow'."
            )
        take_over(night.engine, "nightly", TAKEN_OVER)
        return _run_steps(night, lock)


def _run_steps(night: NightlyRun, lock: HeldLock) -> dict[str, Any]:
    metrics: dict[str, Any] = {}
    failures: dict[str, Exception] = {}
    with recorded(night.engine, "nightly", night.origin, lock=lock) as whole:
        for name in steps.STEPS:
            try:
                metrics[name] = _run_step(night, name, whole)
            except LostRunError:
                raise
            except Exception as error:  # noqa: BLE001 - recorded, and raised below
                failures[name] = error
                if name not in OPTIONAL_STEPS:
                    break
            if name == "demand":
                _settle_day(night, whole)
        else:
            whole.metrics |= _outcome(night, metrics)
        if failures:
            whole.error = _told(night, failures)
            raise _raised(whole.error, list(failures.values()))
    return {"origin": night.day.isoformat(), "run_id": whole.run_id, "steps": metrics}


def _raised(told: str, failures: list[Exception]) -> Exception:
    """The failure of a night: one as it is, several as a group that keeps all of them."""
    return failures[0] if len(failures) == 1 else ExceptionGroup(told, failures)


def _told(night: NightlyRun, failures: Mapping[str, Exception]) -> str:
    """What failed in a night, in words; what costs the forecast comes first.

    Args:
      night: The night.
      failures: By step, in the order of the night.
    """
    costly = next((step for step in failures if step not in OPTIONAL_STEPS), None)
    first = costly or next(iter(failures))
    again = f" --origin {night.origin}" if night.origin else ""
    told = (
        f"{describe_error(failures[first])} That was the step '{first}'; 'harbor "
        f"nightly{again}' goes on from there."
    )
    if costly:
        told = f"There is no new forecast. {told}"
    others = (
        f"The step '{step}' failed, too: {describe_error(error)}"
        for step, error in failures.items()
        if step != first
    )
    return " ".join([told, *others])


def _run_step(night: NightlyRun, name: str, whole: Run) -> dict[str, Any]:
    with recorded(night.engine, name, night.origin, parent=whole) as run:
        steps.STEPS[name](night, run)
    return run.metrics


def _outcome(night: NightlyRun, metrics: dict[str, Any]) -> dict[str, Any]:
    """What who looks at the night alone should see."""
    told = {
        "ingest": ("refused",),
        "demand": ("corrected", "left_old"),
        "prune": ("dropped", "artefacts"),
        "watch": ("alarms",),
        "judge": ("canary_failed",),
        "forecast": ("late_depots", "gated"),
    }
    return {"origin": night.day.isoformat()} | {
        name: metrics[step][name]
        for step, names in told.items()
        for name in names
        if metrics.get(step, {}).get(name)
    }


def _settle_day(night: NightlyRun, whole: Run) -> None:
    """Fixes the origin once, however much comes in during the night.

    Raises:
      NothingToDoError: its night is done, and nothing has come in since.
    """
    if night.origin is None:
        night.origin = counting.default_origin(night.engine)
    with night.engine.begin() as connection:
        runs.set_origin(connection, whole.run_id, night.origin)
        done = runs.night_without_news(connection, night.origin)
    if done is not None:
        raise _done_already(night.origin, done)


def _done_already(origin: date, run_id: int) -> NothingToDoError:
    return NothingToDoError(
        f"The night of {origin} is done (run {run_id}), and nothing has come in since. "
        f"See 'harbor runs show {run_id}'; 'harbor forecast --origin {origin}' forecasts "
        "anew."
    )
