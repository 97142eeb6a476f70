"""Backfills: the same steps as a night's, over past origins, planned before they run.

asking     what is wanted        planning   slot by slot: what is done, and why or why not
plans      a plan as it stands   moved      refuses a plan whose ground has moved
applying   does what waits       steering   pause, cancel and retry from elsewhere
courtesy   the night goes first  running    plan and apply in one go
knowledge  which origins knew the same      hindcasting  the forecast slots, one by one
"""

from pipelines.backfill import control
from pipelines.backfill.apply import Telling, apply_plan
from pipelines.backfill.one_shot import run_backfill
from pipelines.backfill.plan import BackfillPlan, Slot, read_plan
from pipelines.backfill.planner import make_plan
from pipelines.backfill.request import Asked

__all__ = [
    "Asked",
    "BackfillPlan",
    "Slot",
    "Telling",
    "apply_plan",
    "control",
    "make_plan",
    "read_plan",
    "run_backfill",
]
