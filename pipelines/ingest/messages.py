"""Sentences about a file that was loaded: what was ignored, assumed and created."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from pipelines.ingest.conventions import Conventions
from pipelines.ingest.kind_detection import Plan
from pipelines.ingest.numbers import WORDS

MOST_TOLD = 5


def of_file(
    plan: Plan,
    found: Conventions,
    depot_ids: Iterable[str],
    rejected: int,
    blank: int,
) -> Iterator[str]:
    """Everything about a file that a person should know and may not expect."""
    if found.dates is not None:
        order = found.dates
        yield f"Dates were read as {order.date_format}, which {order.proof} proves."
    if found.numbers is not None:
        word, proof = WORDS[found.numbers.mark], found.numbers.proof
        yield f"Numbers were read with a decimal {word}, which {proof} proves."
    if plan.ignored:
        yield f"Columns not read: {_some(plan.ignored)}."
    if rejected:
        rows = "row is" if rejected == 1 else "rows are"
        yield f"{rejected:,} {rows} in quarantine; see 'harbor quarantine list'."
    if blank:
        yield f"Blank rows skipped: {blank:,}."
    alike = _alike(depot_ids)
    if alike:
        yield f"Depots that differ in letter case only, and stay apart: {_some(alike)}."


def moved(orders: int) -> Iterator[str]:
    """Says that orders which were there already are at another depot or day now."""
    if orders:
        yield f"Orders moved to another depot or day: {orders:,}."


def _alike(depot_ids: Iterable[str]) -> list[str]:
    """Ids that one would take for each other, such as B00906/b00906."""
    spellings = defaultdict(list)
    for depot_id in sorted(depot_id for depot_id in depot_ids if depot_id):
        spellings[depot_id.casefold()].append(depot_id)
    return ["/".join(same) for same in spellings.values() if len(same) > 1]


def _some(names: list[str]) -> str:
    more = len(names) - MOST_TOLD
    told = ", ".join(names[:MOST_TOLD])
    return f"{told} and {more} more" if more > 0 else told


def undescribed(depots: int) -> str:
    """Says that depots are known from orders or counts alone."""
    some, them = (
        ("1 depot is", "it") if depots == 1 else (f"{depots:,} depots are", "them")
    )
    return (
        f"{some} known from orders or counts alone, with the fleet's own time zone and no "
        f"city. Load a depots file to describe {them}."
    )
