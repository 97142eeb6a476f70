"""Notes on a loaded file: what was ignored, assumed and created."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from pipelines.ingest.conventions import Conventions
from pipelines.ingest.kind_detection import Plan
from pipelines.ingest.numbers import MARK_NAMES

MAX_NAMES_SHOWN = 5


def file_notes(
    plan: Plan,
    conventions: Conventions,
    depot_ids: Iterable[str],
    rejected: int,
    blank: int,
    *,
    is_dry_run: bool = False,
) -> Iterator[str]:
    """Yields a sentence for everything about a file that its sender may not expect."""
    if conventions.dates is not None:
        order = conventions.dates
        yield f"Dates were read as {order.date_format}, which {order.proof} proves."
    if conventions.numbers is not None:
        word, proof = MARK_NAMES[conventions.numbers.mark], conventions.numbers.proof
        yield f"Numbers were read with a decimal {word}, which {proof} proves."
    if plan.ignored:
        yield f"Columns not read: {_shortened_list(plan.ignored)}."
    if rejected:
        rows = "row" if rejected == 1 else "rows"
        if is_dry_run:
            yield f"{rejected:,} {rows} would be put in quarantine."
        else:
            verb = "is" if rejected == 1 else "are"
            yield f"{rejected:,} {rows} {verb} in quarantine; see 'harbor quarantine list'."
    if blank:
        yield f"Blank rows skipped: {blank:,}."
    alike = _differing_in_case(depot_ids)
    if alike:
        yield (
            "Depots that differ in letter case only, and stay apart: "
            f"{_shortened_list(alike)}."
        )


def moved_orders_note(orders: int) -> Iterator[str]:
    """Yields the note that known orders are at another depot or day now."""
    if orders:
        yield f"Orders moved to another depot or day: {orders:,}."


def _differing_in_case(depot_ids: Iterable[str]) -> list[str]:
    """Returns ids that differ only in letter case, such as B00906/b00906."""
    spellings = defaultdict(list)
    for depot_id in sorted(depot_id for depot_id in depot_ids if depot_id):
        spellings[depot_id.casefold()].append(depot_id)
    return ["/".join(same) for same in spellings.values() if len(same) > 1]


def _shortened_list(names: list[str]) -> str:
    more = len(names) - MAX_NAMES_SHOWN
    listed = ", ".join(names[:MAX_NAMES_SHOWN])
    return f"{listed} and {more} more" if more > 0 else listed


def undescribed_depots_note(depots: int) -> str:
    """Returns the note that depots are known from orders or counts alone."""
    some, them = (
        ("1 depot is", "it") if depots == 1 else (f"{depots:,} depots are", "them")
    )
    return (
        f"{some} known from orders or counts alone, with the fleet's own time zone and no "
        f"city. Load a depots file to describe {them}."
    )
