"""Backfills: the nightly steps over past origins, planned slot by slot before they run.

A slot is one step at one origin; people read it as a task.

request   the validated request             planner       lays out the slots of a plan
plan      the stored plan, and its checks   apply         runs the waiting slots
control   locks; pause, cancel and retry    hindcast      runs the forecast slots
"""

from pipelines.backfill import control
from pipelines.backfill.apply import ProgressCallbacks, apply_plan, run_backfill
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
