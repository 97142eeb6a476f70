"""Planners' decisions on the vans of a city on a day; each decision is stored as a new row."""

from dashboard.planning import overrides
from dashboard.planning.overrides import MAX_REASON_LENGTH, name_problem, text_problem
from pipelines.planning.city_settings import HIRE, VanDecision

DECIDE = (
    "select decide_vans(:city, :target_on, nullif(:kind, ''), :extra, :off_road, :note, :planner, "
    ":decision_id)"
)
MAX_VANS = 100_000


def save(decision: VanDecision, planner: str) -> None:
    """Saves a decision; raises as `overrides.save`.

    `decision_id` is the newest decision of the day that the planner saw. The database refuses the
    decision if there is a newer one, or if the day is not forecast.
    """
    wrong = problems(decision, planner)
    overrides.save(DECIDE, wrong, planner=planner, **vars(decision))


def range_problems(decision: VanDecision, n_vans: int = MAX_VANS) -> list[str]:
    """A sentence for each number out of range; at most `n_vans` may be off the road."""
    return [
        f"{name} are {number:,}, but must lie between 0 and {most:,}.".replace("-", "−")
        for name, number, most in (
            ("Extra vans", decision.extra, MAX_VANS),
            ("Vans off the road", decision.off_road, n_vans),
        )
        if not 0 <= number <= most
    ]


def problems(decision: VanDecision, planner: str, n_vans: int = MAX_VANS) -> list[str]:
    """A sentence for each reason why a decision cannot be saved; `n_vans` as `range_problems`."""
    wrong = range_problems(decision, n_vans)
    if decision.kind == HIRE and not decision.extra:
        wrong.append("Hire how many vans? Give a number, or accept the risk.")
    wrong += text_problem(
        "The note", decision.note, MAX_REASON_LENGTH, is_optional=True
    )
    return wrong + name_problem(planner)
