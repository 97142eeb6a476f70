"""The nightly run: its steps in order, one run at a time, once per origin and data."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from forecaster.errors import NothingToDoError
from pipelines.demand import counting
from pipelines.nightly import steps
from pipelines.nightly.steps import OPTIONAL_STEPS, NightlyRun
from pipelines.runs.error_messages import describe_error
from pipelines.runs.ledger import Run, recorded
from pipelines.store import runs
from pipelines.store.locks import HeldLock, LostRunError, try_lock

NIGHTLY_LOCK = 0x4E49_4748  # "NIGH"


def run_nightly(night: NightlyRun) -> dict[str, Any]:
    """Runs every step, each recorded beneath the nightly run.

    After an interruption it is run again in the same way: finished work is not repeated.

    Returns:
      The origin, the run id, and the metrics of each step.

    Raises:
      NothingToDoError: the origin's nightly run is done and no data has arrived since,
        or another nightly run is in progress.
      LostRunError: the run lost its lock; what it had published before is kept.
      ExceptionGroup: several steps failed; the message begins with the one that
        prevented the forecast.
    """
    with try_lock(night.engine, NIGHTLY_LOCK) as lock:
        if lock is None:
            raise NothingToDoError(
                "Another nightly run is in progress. See 'harbor runs follow'."
            )
        return _run_steps(night, lock)


def _run_steps(night: NightlyRun, lock: HeldLock) -> dict[str, Any]:
    metrics: dict[str, Any] = {}
    failures: dict[str, Exception] = {}
    with recorded(night.engine, "nightly", night.origin, lock=lock) as parent:
        for name in steps.STEPS:
            try:
                metrics[name] = _run_step(night, name, parent)
            except LostRunError:
                raise
            except Exception as error:  # noqa: BLE001 - recorded, and raised below
                failures[name] = error
                if name not in OPTIONAL_STEPS:
                    break
            if name == "demand":
                _set_origin(night, parent)
        else:
            parent.metrics |= _outcome(night, metrics)
        if failures:
            parent.error = _failure_message(night, failures)
            raise _combined(parent.error, list(failures.values()))
    return {"origin": night.day.isoformat(), "run_id": parent.run_id, "steps": metrics}


def _combined(message: str, failures: list[Exception]) -> Exception:
    """One failure as it is; several as a group."""
    return failures[0] if len(failures) == 1 else ExceptionGroup(message, failures)


def _failure_message(night: NightlyRun, failures: Mapping[str, Exception]) -> str:
    """The error message of a nightly run; the step that prevented the forecast first.

    Args:
      night: The nightly run.
      failures: Errors by step, in step order.
    """
    blocking = next((step for step in failures if step not in OPTIONAL_STEPS), None)
    first = blocking or next(iter(failures))
    option = f" --origin {night.origin}" if night.origin else ""
    message = (
        f"{describe_error(failures[first])} That was the step '{first}'; 'harbor "
        f"nightly{option}' goes on from there."
    )
    if blocking:
        message = f"There is no new forecast. {message}"
    others = (
        f"The step '{step}' failed, too: {describe_error(error)}"
        for step, error in failures.items()
        if step != first
    )
    return " ".join([message, *others])


def _run_step(night: NightlyRun, name: str, parent: Run) -> dict[str, Any]:
    with recorded(night.engine, name, night.origin, parent=parent) as run:
        steps.STEPS[name](night, run)
    return run.metrics


def _outcome(night: NightlyRun, metrics: dict[str, Any]) -> dict[str, Any]:
    """The metrics of the steps that are repeated on the nightly run itself."""
    reported = {
        "ingest": ("refused",),
        "demand": ("corrected", "left_old"),
        "prune": ("dropped", "artefacts"),
        "watch": ("alarms",),
        "judge": ("canary_failed",),
        "forecast": ("late_depots", "gated"),
    }
    return {"origin": night.day.isoformat()} | {
        name: metrics[step][name]
        for step, names in reported.items()
        for name in names
        if metrics.get(step, {}).get(name)
    }


def _set_origin(night: NightlyRun, parent: Run) -> None:
    """Sets the origin once, whatever data arrives later in the run.

    Raises:
      NothingToDoError: the origin's nightly run is done, and no data has arrived since.
    """
    if night.origin is None:
        night.origin = counting.default_origin(night.engine)
    with night.engine.begin() as connection:
        runs.set_origin(connection, parent.run_id, night.origin)
        done = runs.night_without_news(connection, night.origin)
    if done is not None:
        raise _already_done(night.origin, done)


def _already_done(origin: date, run_id: int) -> NothingToDoError:
    return NothingToDoError(
        f"The night of {origin} is done (run {run_id}), and nothing has come in since. "
        f"See 'harbor runs show {run_id}'; 'harbor forecast --origin {origin}' forecasts "
        "anew."
    )
