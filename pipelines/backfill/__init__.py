"""Backfills: the same steps as a night's, over past origins, planned before they run.

asking     what is wanted        planning   slot by slot: what is done, and why or why not
plans      a plan as it stands   moved      refuses a plan whose ground has moved
applying   does what waits       steering   pause, cancel and retry from elsewhere
courtesy   the night goes first  running    plan and apply in one go
knowledge  which origins knew the same      hindcasting  the forecast slots, one by one
"""

from pipelines.backfill import steering
from pipelines.backfill.applying import Telling, apply_plan
from pipelines.backfill.asking import Asked
from pipelines.backfill.planning import make_plan
from pipelines.backfill.plans import BackfillPlan, Slot, read_plan
from pipelines.backfill.running import run_backfill

__all__ = [
    "Asked",
    "BackfillPlan",
    "Slot",
    "Telling",
    "apply_plan",
    "make_plan",
    "read_plan",
    "run_backfill",
    "steering",
]
