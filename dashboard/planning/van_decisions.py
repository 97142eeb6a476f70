"""Planners' decisions on the vans of a city on a day; each decision is stored as a new row."""

from dashboard.planning import overrides
from dashboard.planning.city_settings import MAX_VANS, outside
from dashboard.planning.overrides import MAX_REASON_LENGTH, name_problem, text_problem
from pipelines.planning.city_settings import HIRE, VanDecision

DECIDE = (
    "select decide_vans(:city, :target_on, nullif(:kind, ''), :extra, :off_road, :note, :planner, "
    ":decision_id)"
)


def save(decision: VanDecision, planner: str) -> None:
    """Saves a decision; raises as `overrides.save`.

    `decision_id` is the newest decision of the day that the planner saw. The database refuses the
    decision if there is a newer one, or if the day is not forecast.
    """
    wrong = entry_problems(decision) + name_problem(planner)
    overrides.save(DECIDE, wrong, planner=planner, **vars(decision))


def entry_problems(decision: VanDecision, n_vans: int = MAX_VANS) -> list[str]:
    """A sentence for each number missing or out of range, and for a note that is too long.

    At most `n_vans` may be off the road.
    """
    hired = "Hired vans", decision.extra, 0, MAX_VANS
    wrong = outside([hired, ("Vans off the road", decision.off_road, 0, n_vans)])
    if decision.kind == HIRE and not decision.extra:
        wrong.append("Hire how many vans? Give a number, or accept the risk.")
    note = decision.note
    return wrong + text_problem("The note", note, MAX_REASON_LENGTH, is_optional=True)
