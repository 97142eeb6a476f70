"""What `harbor doctor` says of the nights: runs that died, and how the last one ended."""

from datetime import UTC
from typing import Any

import sqlalchemy as sa

from pipelines.cli.findings import Finding
from pipelines.heartbeat import give_up_lost_runs
from pipelines.store import runs

MOST_TOLD = 5


def look_at_nights(engine: sa.Engine) -> list[Finding]:
    """Gives up runs that died, and judges the ledger.

    Args:
      engine: On a database that is up to date.
    """
    lost = give_up_lost_runs(engine)
    with engine.connect() as connection:
        last = runs.last_night(connection)
    return [_lost_runs(lost), _last_night(last)]


def _lost_runs(lost: list[int]) -> Finding:
    if not lost:
        return Finding("runs", True, "none that stopped without a word")
    told = ", ".join(str(run_id) for run_id in lost[:MOST_TOLD])
    more = f" and {len(lost) - MOST_TOLD} more" if len(lost) > MOST_TOLD else ""
    says = (
        f"{told}{more} stopped without a word and count as failed now; 'harbor runs show "
        f"{lost[0]}' says when. Start them again"
    )
    return Finding("runs", False, says)


def _last_night(last: dict[str, Any] | None) -> Finding:
    if last is None:
        says = "no night has run yet; 'harbor nightly' runs one"
        return Finding("last night", True, says)
    began = f"{last['started_at'].astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    says = f"run {last['run_id']} of {last['origin_on'] or 'no origin'}, {began}, "
    if last["state"] == "failed":
        return Finding("last night", False, f"{says}failed: {last['error']}")
    return Finding("last night", True, says + str(last["state"]))
