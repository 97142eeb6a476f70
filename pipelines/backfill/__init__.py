"""Backfills: the nightly steps over past origins, planned slot by slot before they run.

request        the validated request       planner        lays out the slots of a plan
plan           the stored plan             preconditions  rejects a plan made on older data
apply          runs the waiting slots      control        pause, cancel and retry
coordination   yields to nightly runs      one_shot       plans and applies in one call
vintages       groups origins by data      hindcast       forecast slots
shared_steps   steps run once per plan
"""

from pipelines.backfill import control
from pipelines.backfill.apply import ProgressCallbacks, apply_plan
from pipelines.backfill.one_shot import run_backfill
from pipelines.backfill.plan import BackfillPlan, Slot, read_plan
from pipelines.backfill.planner import make_plan
from pipelines.backfill.request import BackfillRequest

__all__ = [
    "BackfillPlan",
    "BackfillRequest",
    "ProgressCallbacks",
    "Slot",
    "apply_plan",
    "control",
    "make_plan",
    "read_plan",
    "run_backfill",
]
