"""The nightly run: its steps in order, one run at a time, once per origin and data."""

from collections.abc import Mapping
from typing import Any, TypedDict

import sqlalchemy as sa
import structlog

from forecaster.errors import HarborError, NoDataError, NothingToDoError
from pipelines.demand import counting
from pipelines.nightly import steps
from pipelines.nightly.steps import NightlyContext, Step
from pipelines.runs.error_messages import describe_error
from pipelines.runs.ledger import Run, recorded
from pipelines.runs.locks import LostRunError, try_lock
from pipelines.store import runs

log = structlog.get_logger()

NIGHTLY_LOCK = 0x4E49_4748  # "NIGH"
REPORTED_METRICS = {
    "ingest": ("refused",),
    "demand": ("new", "corrected", "left_old"),
    "prune": ("dropped", "artefacts", "forecasts_deleted"),
    "accuracy": ("alarms",),
    "promote": ("promoted", "canary_failed"),
    "forecast": ("depots", "late_depots", "reason"),
}
"""Metrics of steps that are copied to the nightly run, by step."""


class NightlyResult(TypedDict):
    """The result of a nightly run; `steps` holds the metrics of each step.

    `unpublished` is the reason why publishing to other systems failed; None if it did not.
    """

    origin: str
    run_id: int
    unpublished: str | None
    steps: dict[str, dict[str, Any]]


class NightlyError(HarborError):
    """Steps of a nightly run failed; the first error is the cause."""


def run_nightly(
    context: NightlyContext, chosen_steps: Mapping[str, Step] | None = None
) -> NightlyResult:
    """Runs every step, even if others fail, and records each as part of the nightly run.

    After an interruption, run it again in the same way: finished work is not repeated. A night in
    which only publishing failed is done; its result has `unpublished`, and it may be run again.
    `chosen_steps` must include `demand`; by default they are those of the settings.

    Raises:
      NothingToDoError: the origin's nightly run is done and no data has arrived since,
        or another nightly run is in progress.
      LostRunError: the run lost its lock; what it had stored before is kept.
      NightlyError: steps failed; the message begins with the one that prevented the
        forecast, or describes how it was made without them.
    """
    with try_lock(context.engine, NIGHTLY_LOCK) as lock:
        if lock is None:
            raise NothingToDoError(
                "Another nightly run is in progress. See 'harbor runs follow'."
            )
        return _run_steps(
            context, lock, chosen_steps or steps.chosen_steps(context.settings)
        )


def _run_steps(
    context: NightlyContext, lock: sa.Engine, chosen_steps: Mapping[str, Step]
) -> NightlyResult:
    metrics: dict[str, dict[str, Any]] = {}
    failures: dict[str, Exception] = {}
    with recorded(context.engine, "nightly", context.origin, lock=lock) as parent:
        for name, step in chosen_steps.items():
            try:
                with recorded(
                    context.engine, name, context.origin, parent=parent
                ) as run:
                    step.work(context, run)
                metrics[name] = run.metrics
            except LostRunError:
                raise
            except Exception as error:  # noqa: BLE001 - recorded, and raised below
                failures[name] = error
            if name == "demand":
                try:
                    _set_origin(context, parent, metrics)
                except (NothingToDoError, NoDataError) as error:
                    if not failures:
                        raise
                    message = f"{_failure_message(context, failures, {})} {error}"
                    raise NightlyError(message) from next(iter(failures.values()))
        parent.metrics |= {"origin": context.day.isoformat()} | {
            name: metrics[step_name][name]
            for step_name, names in REPORTED_METRICS.items()
            for name in names
            if metrics.get(step_name, {}).get(name)
        }
        if failures.keys() == {steps.PUBLISH}:
            unpublished = describe_error(failures.pop(steps.PUBLISH))
            parent.metrics["unpublished"] = unpublished
            log.warning("unpublished", reason=unpublished)
        if failures:
            message = _failure_message(context, failures, chosen_steps)
            raise NightlyError(message) from next(iter(failures.values()))
    return {
        "origin": context.day.isoformat(),
        "run_id": parent.run_id,
        "unpublished": parent.metrics.get("unpublished"),
        "steps": metrics,
    }


def _failure_message(
    context: NightlyContext,
    failures: Mapping[str, Exception],
    steps_done: Mapping[str, Step],
) -> str:
    """Message on the failed steps, a blocking one first, and how the forecast was made without them.

    `steps_done` is empty if the night ended before its forecast.
    """
    ways = {name: steps_done[name].forecast_without for name in failures if steps_done}
    blocking = next((name for name, way in ways.items() if way is None), None)
    first = blocking or next(iter(failures))
    option = f" --origin {context.origin}" if context.origin else ""
    failure = (
        f"{describe_error(failures[first])} That was the step '{first}'; 'harbor "
        f"nightly{option}' goes on from there."
    )
    sentences = [failure]
    if blocking:
        sentences.insert(0, "There is no new forecast.")
    elif ways:
        how = ", ".join(dict.fromkeys(way for way in ways.values() if way))
        sentences.append(f"The forecast was made all the same, {how}.")
    sentences += [
        f"The step '{name}' failed, too: {describe_error(error)}"
        for name, error in failures.items()
        if name != first
    ]
    return " ".join(sentences)


def _set_origin(
    context: NightlyContext, parent: Run, metrics: Mapping[str, Mapping[str, Any]]
) -> None:
    """Sets the origin once; data that arrive later in the run do not change it.

    Data that this run has loaded or counted is new data, even if the clock was set back, except
    orders of a day that is not over.

    Raises:
      NothingToDoError: the origin's nightly run is done, and no data has arrived since.
    """
    if context.origin is None:
        context.origin = counting.default_origin(context.engine)
    with parent.engine.begin() as connection:
        runs.update_run(connection, parent.run_id, origin_on=context.origin)
        done_run_id = runs.night_without_new_data(connection, context.origin)
    has_news = any(
        metrics.get(step, {}).get(name)
        for step, name in (
            ("ingest", "described"),
            ("demand", "new"),
            ("demand", "corrected"),
        )
    )
    if done_run_id is not None and not has_news:
        refused = metrics.get("ingest", {}).get("refused")
        message = (
            f"The night of {context.origin} is done (run {done_run_id}), and nothing "
            f"{'else ' if refused else ''}has come in since; changed settings count from "
            f"the next night. See 'harbor runs show {done_run_id}'; 'harbor forecast "
            f"--origin {context.origin}' forecasts again."
        )
        if refused:
            parent.metrics["refused"] = refused
            message = f"{refused_files(refused, parent.run_id)} {message}"
        raise NothingToDoError(message)


def refused_files(refused: int, run_id: int) -> str:
    """Sentence on the number of refused files, and where the reasons are listed."""
    return (
        f"Files of the inbox that were refused: {refused}. 'harbor runs show {run_id}' "
        "lists them with the reasons."
    )
