"""What `harbor doctor` says of the nights: runs that died, and how the last one ended."""

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from pipelines.cli.findings import Finding
from pipelines.forecasting import live_accuracy
from pipelines.runs.heartbeat import fail_stale_runs
from pipelines.scheduling import catch_up, schedule
from pipelines.settings import Settings
from pipelines.store import runs

MOST_TOLD = 5


def look_at_nights(engine: sa.Engine, settings: Settings) -> list[Finding]:
    """Gives up runs that died, and judges the ledger and the forecasts that were shown.

    Args:
      engine: On a database that is up to date.
      settings: Say when accuracy is an alarm.
    """
    lost = fail_stale_runs(engine)
    with engine.connect() as connection:
        last = runs.last_night(connection, that_worked=True)
    return [
        _lost_runs(lost),
        _last_night(last),
        _scheduler(engine, settings),
        *_accuracy(engine, settings),
    ]


def _lost_runs(lost: list[int]) -> Finding:
    if not lost:
        return Finding("runs", True, "none died without reporting its end")
    told = ", ".join(str(run_id) for run_id in lost[:MOST_TOLD])
    more = f" and {len(lost) - MOST_TOLD} more" if len(lost) > MOST_TOLD else ""
    says = (
        f"{told}{more} died without reporting their end, and now count as failed; "
        f"'harbor runs show {lost[0]}' says when. Start them again"
    )
    return Finding("runs", False, says)


def _scheduler(engine: sa.Engine, settings: Settings) -> Finding:
    """Nights may be run by another program's clock, so that none runs is no failure."""
    now = datetime.now(UTC)
    upcoming = catch_up.next_nightly(settings, now)
    if not schedule.has_leader(engine):
        says = "none runs; 'harbor schedule run' starts one"
        return Finding("scheduler", True, says)
    left = sorted(catch_up.find_due(engine, settings, now).missed)
    if left:
        says = (
            f"runs, but the nights of {', '.join(map(str, left[:MOST_TOLD]))} are not "
        )
        says += "done; 'harbor runs list --step nightly' says why"
        return Finding("scheduler", False, says)
    return Finding("scheduler", True, f"runs; next night {upcoming:%a %d %b %H:%M %Z}")


def _last_night(last: dict[str, Any] | None) -> Finding:
    if last is None:
        says = "no night has run yet; 'harbor nightly' runs one"
        return Finding("last night", True, says)
    began = f"{last['started_at'].astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    says = f"run {last['run_id']} of {last['origin_on'] or 'no origin'}, {began}, "
    if last["state"] == "failed":
        return Finding("last night", False, f"{says}failed: {last['error']}")
    refused = last["metrics"].get("refused")
    if refused:
        many = (
            "1 file of the inbox was"
            if refused == 1
            else f"{refused} files of the inbox were"
        )
        says += (
            f"{last['state']}, but {many} refused, and will be every night; 'harbor "
            f"runs show {last['run_id']}' says why. Correct the refused files, or "
            "remove them"
        )
        return Finding("last night", False, says)
    late = last["metrics"].get("late_depots")
    if late:
        says += (
            f"{last['state']}, without the day's orders of {late} depots: load them, "
        )
        return Finding("last night", False, says + "and run 'harbor nightly' again")
    left = last["metrics"].get("left_old")
    if left:
        says += (
            f"{last['state']}, but corrections of {left} depot-days lie too far back "
            "and were skipped; raise HARBOR_LOOK_BACK_DAYS to include them"
        )
        return Finding("last night", False, says)
    return Finding("last night", True, says + str(last["state"]))


def _accuracy(engine: sa.Engine, settings: Settings) -> list[Finding]:
    seen = live_accuracy.measure(engine, settings)
    if seen.alarms:
        return [Finding("accuracy", False, alarm) for alarm in seen.alarms]
    if seen.mape is None or seen.naive_mape is None:
        return [Finding("accuracy", True, "no live forecast has been scored yet")]
    says = (
        f"MAPE {100 * seen.mape:.1f} % over four weeks of live forecasts, "
        f"{100 * seen.naive_mape:.1f} % of the seasonal naive"
    )
    with engine.connect() as connection:
        gated = len(live_accuracy.worse_depots(connection))
    if gated:
        says += (
            f"; {gated} depots are worse and get the baseline forecast, see 'harbor "
        )
        says += "models live --by depot'"
    return [Finding("accuracy", True, says)]
