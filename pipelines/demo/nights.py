"""The last weeks of the invented fleet, simulated one nightly run at a time.

Each night is the nightly run itself, on a simulated clock: it loads the files of its day,
scores what was forecast and forecasts again. One feed is late, one file is corrected by a
later one, one night fails and is repeated, one challenger is rejected, and planners change
what they know better.
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from typing import Any

from pipelines.database.engine import snapshot
from pipelines.demo.depots import LOCAL_EVENTS, LocalEvent
from pipelines.demo.stages import Advance, DemoContext, judge, train_challenger
from pipelines.ingest import FileOptions, ingest
from pipelines.nightly import steps
from pipelines.nightly.run import NightlyError, run_nightly
from pipelines.nightly.steps import NightlyContext, Step
from pipelines.runs.ledger import Run
from pipelines.store import forecasts, models, runs
from pipelines.store.demo import add_overrides, may_plan
from pipelines.training import train

FAILED_DAYS_AGO, REJECTED_DAYS_AGO = 2, 5
"""Which night fails first, and on which eve a challenger is rejected; days before the last."""
CUT_BYTES = 4096
"""Bytes that are left of the rejected challenger's file."""
SKIPPED_STEPS = ("train", "promote", steps.PUBLISH)
REPEATED_AFTER, PLANNED_AFTER = timedelta(hours=3), timedelta(hours=4)
TRAINED_BEFORE = timedelta(hours=16)
NOTICE_DAYS = 3
"""Days before its target at which an override is saved."""
ROUNDED_TO = 5


def run_nights(demo: DemoContext, advance: Advance) -> str:
    """Runs every night that is not done yet, oldest first."""
    nights = demo.nights
    n_run = 0
    for number, day in enumerate(nights):
        if not _is_done(demo, day):
            _run_night(demo, day, days_ago=len(nights) - 1 - number)
            n_run += 1
        advance(number + 1, len(nights))
    if not n_run:
        return "already simulated"
    return f"{n_run} nights up to {nights[-1]}"


def _is_done(demo: DemoContext, day: date) -> bool:
    wanted = {"step": "nightly", "state": "done", "origin_on": day}
    with demo.engine.connect() as connection:
        return bool(runs.recent_runs(connection, 1, False, wanted))


def _run_night(demo: DemoContext, day: date, days_ago: int) -> None:
    at = demo.morning_after(day)
    if days_ago == REJECTED_DAYS_AGO:
        with demo.clock_at(at - TRAINED_BEFORE):
            _train_rejected_challenger(demo)
    if days_ago == FAILED_DAYS_AGO:
        with demo.clock_at(at), _missing_model(demo):
            try:
                _start(demo, day)
            except NightlyError:
                # Meant to: somebody repairs it, and runs the night again.
                at += REPEATED_AFTER
    with demo.clock_at(at):
        _start(demo, day)
    known = [each for each in LOCAL_EVENTS if each.days_ago + NOTICE_DAYS == days_ago]
    with demo.clock_at(min(at + PLANNED_AFTER, demo.now)):
        _plan(demo, day, known)


def _train_rejected_challenger(demo: DemoContext) -> None:
    """Trains a challenger whose file is cut short on its disk; its canary rejects it."""
    recipe = train.build_recipe(demo.settings, epochs=1)
    origin = demo.nights[0] - timedelta(days=1)
    version = train_challenger(demo, origin, recipe, _no_progress)
    path = demo.settings.artefacts / f"{version}.npz"
    path.write_bytes(path.read_bytes()[:CUT_BYTES])
    judge(demo, origin, version)


def _start(demo: DemoContext, day: date) -> None:
    context = NightlyContext(
        demo.engine, demo.settings, demo.morning_after(day), None, _no_progress
    )
    run_nightly(context, _steps(demo, day))


def _no_progress(_: str) -> Any:
    return lambda *_: None


def _steps(demo: DemoContext, day: date) -> Mapping[str, Step]:
    """The steps of a night, with the folder of its day for the inbox.

    The training, which takes longer than all others, is left out, and no other system is given
    what is invented.
    """
    ingest_step = replace(steps.STEPS["ingest"], work=partial(_ingest, demo, day))
    own = steps.STEPS | {"ingest": ingest_step}
    return {name: step for name, step in own.items() if name not in SKIPPED_STEPS}


def _ingest(demo: DemoContext, day: date, context: NightlyContext, run: Run) -> None:
    report = ingest(
        run.engine,
        [str(demo.folder / "nights" / str(day))],
        # The corrected file moves a day's orders, as a partner's does.
        FileOptions(force=True),
        context.settings,
        is_invented=True,
    )
    run.metrics |= {"files": len(report.files), "refused": len(report.refused)}


@contextmanager
def _missing_model(demo: DemoContext) -> Iterator[None]:
    """Takes the champion's file away meanwhile, as a disk that is not mounted does."""
    with snapshot(demo.engine) as connection:
        champion = models.champion(connection)
    assert champion is not None, "the first model of a fleet is promoted"
    path = demo.settings.artefacts / champion["filename"]
    away = demo.folder / path.name
    shutil.move(path, away)
    try:
        yield
    finally:
        shutil.move(away, path)


def _plan(demo: DemoContext, day: date, events: list[LocalEvent]) -> None:
    """Saves the planners' overrides of a day ahead, if this user may save overrides."""
    with demo.engine.begin() as connection:
        if not (events and may_plan(connection)):
            return
        champion = models.champion(connection)
        assert champion is not None, "the night has forecast with it"
        rows = forecasts.read_forecasts(connection, day, champion["version"])
        target_on = day + timedelta(days=NOTICE_DAYS)
        shown = {
            row["depot_id"]: row["point"]
            for row in rows
            if row["target_on"] == target_on and row["point"] > 0
        }
        for event in events:
            if event.depot_id in shown:
                expected = shown[event.depot_id] * (1 + event.planned_lift)
                change = {
                    "depot_id": event.depot_id,
                    "target_on": str(target_on),
                    "orders": ROUNDED_TO * round(expected / ROUNDED_TO),
                }
                add_overrides(connection, [change], event.reason, event.planner)
