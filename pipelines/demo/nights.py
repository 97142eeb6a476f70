"""The newest days of the invented fleet, simulated one nightly run at a time.

Each night is a real nightly run on a simulated clock: it loads the files of its day, scores
earlier forecasts and forecasts again; one night also trains. One feed is late, and one file is
corrected by a later one. Planners override forecasts for events that they know of, and after
the last night a planner hires vans for the smallest shortage.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from typing import Any

from pipelines.demo.depots import LOCAL_EVENTS, LocalEvent
from pipelines.demo.stages import Advance, DemoContext
from pipelines.ingest.load import FileOptions, ingest
from pipelines.nightly import steps
from pipelines.nightly.run import run_nightly
from pipelines.nightly.steps import NightlyContext, Step
from pipelines.planning.morning_message import read_tables
from pipelines.runs.ledger import Run
from pipelines.store import forecasts, models, runs
from pipelines.store.demo import add_overrides, hire_vans, may_plan
from pipelines.training.train import FitReporter

TRAINING = ("train", "promote")
"""The steps that take longest; all nights but one skip them."""
TRAINED_DAYS_AGO = 3
"""Days before the last night of the night that trains; it skips training if it was interrupted."""
PLANNED_AFTER = timedelta(hours=4)
NOTICE_DAYS = 3
"""Days from the origin of a night to the target day of the overrides saved after it."""
ROUNDED_TO = 5
PLANNER, HIRED_FROM = "Ben", "from the rental at the harbour"


def run_nights(demo: DemoContext, advance: Advance) -> str:
    """Runs every night that is not done yet, oldest first."""
    nights = demo.nights
    n_run = 0
    for number, day in enumerate(nights):
        if not _has_run(demo, {"origin_on": day, "state": "done"}):
            report = _within(advance, number, len(nights))
            _run_night(demo, day, len(nights) - 1 - number, report)
            n_run += 1
        advance(number + 1, len(nights))
    if not n_run:
        return "already simulated"
    return f"{n_run} nights up to {nights[-1]}"


def _has_run(demo: DemoContext, wanted: dict[str, Any]) -> bool:
    wanted = {"step": "nightly", **wanted}
    with demo.engine.connect() as connection:
        return bool(runs.recent_runs(connection, 1, False, wanted))


def _within(advance: Advance, number: int, nights: int) -> FitReporter:
    """Returns a reporter that derives a night's progress from its training, its longest step."""

    def start(fit: str) -> Callable[[int, int], None]:
        is_second = fit == "production"
        return lambda epoch, epochs: advance(
            number + (is_second + epoch / epochs) / 2, nights
        )

    return start


def _run_night(
    demo: DemoContext, day: date, days_ago: int, report: FitReporter
) -> None:
    at = demo.morning_after(day)
    with demo.clock_at(at):
        is_new = not _has_run(demo, {"origin_on": day})
        trains = is_new and days_ago == TRAINED_DAYS_AGO
        context = NightlyContext(demo.engine, demo.settings, at, None, report)
        skipped = (steps.PUBLISH,) if trains else (steps.PUBLISH, *TRAINING)
        run_nightly(context, _steps(demo, day, skipped))
    known = [each for each in LOCAL_EVENTS if each.days_ago + NOTICE_DAYS == days_ago]
    with demo.clock_at(min(at + PLANNED_AFTER, demo.now)):
        _plan(demo, day, known)
        if not days_ago:
            _hire(demo, day)


def _steps(
    demo: DemoContext, day: date, skipped: Collection[str]
) -> Mapping[str, Step]:
    """Returns the steps of a night, which load the folder of its day instead of the inbox.

    The step that publishes is always skipped: invented data must not reach other systems.
    """
    ingest_step = replace(steps.STEPS["ingest"], work=partial(_ingest, demo, day))
    own = steps.STEPS | {"ingest": ingest_step}
    return {name: step for name, step in own.items() if name not in skipped}


def _ingest(demo: DemoContext, day: date, context: NightlyContext, run: Run) -> None:
    report = ingest(
        run.engine,
        [str(demo.folder / "nights" / str(day))],
        # The correcting file moves all of its orders; without force, a file may move only some.
        FileOptions(force=True),
        context.settings,
        is_invented=True,
    )
    run.metrics |= {"files": len(report.files), "refused": len(report.refused)}


def _plan(demo: DemoContext, day: date, events: list[LocalEvent]) -> None:
    """Saves the planners' overrides for `events`, if this user may save overrides."""
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


def _hire(demo: DemoContext, day: date) -> None:
    """Hires the vans missing in the smallest shortage, if there is one and this user may plan."""
    now = demo.morning_after(day)
    tables = read_tables(demo.engine, demo.settings, day, now)
    if tables is None:
        return
    days = tables.plan.cities
    short = days[days["lacking"] > 0].sort_values(["lacking", "city", "target_on"])
    with demo.engine.begin() as connection:
        if short.empty or not may_plan(connection):
            return
        first = short.iloc[0]
        target_on, vans = first["target_on"].date(), int(first["lacking"])
        hire_vans(connection, first["city"], target_on, vans, HIRED_FROM, PLANNER)
