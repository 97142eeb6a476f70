"""What planners decide about the vans of a city on a day; each decision is one more row."""

from dashboard import queries
from dashboard.planning.overrides import MAX_NAME_LENGTH, MAX_REASON_LENGTH
from dashboard.queries import database
from forecaster.errors import BadInputError
from pipelines.planning.city_settings import HIRE, VanDecision

DECIDE = (
    "select decide_vans(:city, :target_on, nullif(:kind, ''), :extra, :off_road, :note, :planner, "
    ":decision_id, :is_undo)"
)
MAX_VANS = 100_000


def save(decision: VanDecision, planner: str, is_undo: bool = False) -> None:
    """Saves a decision, and clears the cached freshness.

    `decision_id` is of the newest decision of the day that the planner has seen. An undo takes
    that one back: what was decided before counts again, or else the decision given.

    Raises:
      BadInputError: with all that is wrong; or another planner has decided meanwhile, or the
        day is not forecast.
      DatabaseError: as `database.snapshot`.
    """
    wrong = problems(decision, planner)
    if wrong:
        raise BadInputError(" ".join(wrong))
    database.call(DECIDE, planner=planner, is_undo=is_undo, **vars(decision))
    queries.freshness.clear()


def problems(decision: VanDecision, planner: str) -> list[str]:
    """A sentence for all that keeps a decision from being saved."""
    wrong = [
        f"{name} are {number:,}, but must lie between 0 and {MAX_VANS:,}."
        for name, number in (
            ("Extra vans", decision.extra), ("Vans off the road", decision.off_road),
        )
        if not 0 <= number <= MAX_VANS
    ]  # fmt: skip
    if decision.kind == HIRE and not decision.extra:
        wrong.append("Hire how many vans? Give a number, or accept the risk.")
    if len(decision.note.strip()) > MAX_REASON_LENGTH:
        wrong.append(
            f"The note is too long: at most {MAX_REASON_LENGTH} letters are kept."
        )
    if not planner.strip():
        wrong.append("Your name is missing; it is kept with the decision.")
    elif len(planner.strip()) > MAX_NAME_LENGTH:
        wrong.append(
            f"Your name is too long: at most {MAX_NAME_LENGTH} letters are kept."
        )
    return wrong
