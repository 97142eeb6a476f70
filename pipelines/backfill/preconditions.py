"""Refuses a plan whose ground has moved, and says what moved."""

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
    """The ledger as a plan sees it."""
    until = plan.request.last + timedelta(days=settings.horizon)
    return plan_snapshot.ledger_now(connection, plan.request.last, until)


def require_unchanged(
    engine: sa.Engine, settings: Settings, plan: BackfillPlan
) -> None:
    """Refuses a plan that was made from another ledger.

    Raises:
      BadInputError: something the plan rests on is not what it was; all of it is named.
    """
    with snapshot(engine) as connection:
        now = data_snapshot(connection, settings, plan)
        depots = plan.request.depot_ids(connection)
        origins = plan_snapshot.overwritten_since(connection, plan.backfill_id, depots)
    planned = {slot.model_version for slot in plan.waiting if slot.model_version}
    moved = list(_differences(plan.ledger, now, planned))
    if origins:
        some = ", ".join(str(day) for day in origins[:MAX_LISTED])
        more = f" and {len(origins) - MAX_LISTED} more" if origins[MAX_LISTED:] else ""
        moved.append(f"forecasts from {some}{more} were made anew")
    if moved:
        raise BadInputError(
            f"Data or models have changed since plan {plan.backfill_id} was made: "
            f"{'; '.join(moved)}. Make a new plan with 'harbor backfill plan'."
        )


def _differences(
    then: Mapping[str, Any], now: Mapping[str, Any], planned: Set[str]
) -> Iterator[str]:
    counts = now["counts"][0] - then["counts"][0]
    if then["counts"] != now["counts"]:
        yield f"counts of its days that were recorded: {counts:,}"
    for name in ("events", "depots"):
        (before, _), (after, _) = then[name], now[name]
        if then[name] != now[name]:
            many = f"there are {after} where there were {before}"
            yield f"{name} changed" + (f" ({many})" if before != after else "")
    for version in sorted(set(now["models"]) - set(then["models"])):
        yield f"model {version} was added"
    # Each night prunes models; only those that are still to forecast are missed.
    for version in sorted(planned & (set(then["models"]) - set(now["models"]))):
        yield f"model {version} is gone, or its artefact was pruned"
