"""What the columns of a strange file may mean, for the sentence that refuses it.

A guess is only ever offered, as options to copy; nothing is loaded by it.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.ingest.file_schemas import Kind

CERTAIN, LIKELY = 2, 1


@dataclass(frozen=True)
class Meaning:
    """Words in a name that speak for a column, or rule it out."""

    certain: frozenset[str]
    likely: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NUMBERED = _words("id number no nr code key")
MEANINGS = {
    "order_id": Meaning(
        _words("order trip ride delivery shipment invoice transaction booking"),
        never=_words("date day time name count of at"),
    ),
    "depot_id": Meaning(
        _words("depot base station store shop site hub branch warehouse location"),
        likely=NUMBERED,
        never=_words("name address city date time of"),
    ),
    "ordered_at": Meaning(
        _words("ordered time timestamp datetime created started"),
        likely=_words("start at date"),
        never=_words("end ended duration"),
    ),
    "date": Meaning(_words("date day"), never=_words("end ended time")),
    "orders": Meaning(
        _words("orders trips rides deliveries shipments sales entries visits"),
        likely=_words("count quantity volume number total"),
        never=_words("date day time name id"),
    ),
}


def suggest(header: Sequence[str], kinds: Sequence[Kind]) -> tuple[Kind, str] | None:
    """The kind that a header fits best by its words, and the options that say so.

    Args:
      header: Names as they stand in the file.
      kinds: That it could be.

    Returns:
      None where no kind finds a name for each of its columns.
    """
    guesses = [(kind, _assigned(header, kind)) for kind in kinds]
    whole = [(kind, found) for kind, found in guesses if found is not None]
    if not whole:
        return None
    kind, found = max(whole, key=lambda guess: _total(guess[1]))
    given = [f"--column {name}={shlex.quote(at)}" for name, at in found.items()]
    return kind, " ".join(given)


def _assigned(header: Sequence[str], kind: Kind) -> dict[str, str] | None:
    """A name for every column wanted, none used twice."""
    found: dict[str, str] = {}
    for column in kind.wanted:
        left = [cell.strip() for cell in header if cell.strip() not in found.values()]
        best = max(left, key=lambda cell: _score(column, cell), default="")
        if _score(column, best) < CERTAIN:
            return None
        found[column] = best
    return found


def _total(found: dict[str, str]) -> float:
    """Mean score, so that a kind of few columns has no advantage and none of many."""
    return sum(_score(*pair) for pair in found.items()) / len(found)


def _score(column: str, cell: str) -> int:
    """How much the words of a name speak for a column; 0 where one rules it out."""
    if column not in MEANINGS:
        return 0
    meaning = MEANINGS[column]
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", cell)
    words = set(re.findall(r"[a-z]+", spaced.casefold()))
    if words & meaning.never:
        return 0
    certain, likely = len(words & meaning.certain), len(words & meaning.likely)
    return CERTAIN * certain + LIKELY * likely
