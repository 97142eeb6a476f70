"""Rejects a plan if data or models have changed since it was made."""

from collections.abc import Iterator, Mapping, Set
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from forecaster.errors import BadInputError
from pipelines.backfill.plan import BackfillPlan
from pipelines.database.engine import snapshot
from pipelines.settings import Settings
from pipelines.store import plan_snapshot

MAX_LISTED = 5


def data_snapshot(
    connection: sa.Connection, settings: Settings, plan: BackfillPlan
) -> dict[str, Any]:
    """Summarises the data and models that a plan depends on."""
    until = plan.request.last + timedelta(days=settings.horizon)
    return plan_snapshot.ledger_now(connection, plan.request.last, until)


def require_unchanged(
    engine: sa.Engine, settings: Settings, plan: BackfillPlan
) -> None:
    """Rejects a plan if anything it depends on has changed.

    Raises:
      BadInputError: data or models have changed; the message lists every change.
    """
    with snapshot(engine) as connection:
        current = data_snapshot(connection, settings, plan)
        depots = plan.request.depot_ids(connection)
        origins = plan_snapshot.overwritten_since(connection, plan.backfill_id, depots)
    planned = {slot.model_version for slot in plan.waiting if slot.model_version}
    changes = list(_differences(plan.ledger, current, planned))
    if origins:
        days = ", ".join(str(day) for day in origins[:MAX_LISTED])
        more = f" and {len(origins) - MAX_LISTED} more" if origins[MAX_LISTED:] else ""
        changes.append(f"forecasts from {days}{more} were made anew")
    if changes:
        raise BadInputError(
            f"Data or models have changed since plan {plan.backfill_id} was made: "
            f"{'; '.join(changes)}. Make a new plan with 'harbor backfill plan'."
        )


def _differences(
    before: Mapping[str, Any], after: Mapping[str, Any], planned: Set[str]
) -> Iterator[str]:
    counts = after["counts"][0] - before["counts"][0]
    if before["counts"] != after["counts"]:
        yield f"counts of its days that were recorded: {counts:,}"
    for name in ("events", "depots"):
        (old_count, _), (new_count, _) = before[name], after[name]
        if before[name] != after[name]:
            counted = f"there are {new_count} where there were {old_count}"
            yield f"{name} changed" + (
                f" ({counted})" if old_count != new_count else ""
            )
    for version in sorted(set(after["models"]) - set(before["models"])):
        yield f"model {version} was added"
    # Every nightly run prunes models; only those the plan still needs matter.
    for version in sorted(planned & (set(before["models"]) - set(after["models"]))):
        yield f"model {version} is gone, or its artefact was pruned"
