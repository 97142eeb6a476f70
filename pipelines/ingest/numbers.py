"""Numbers as people write them: which mark sets decimals apart, and which thousands."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from forecaster.errors import RefusedFileError

OTHER = {".": ",", ",": "."}
MARKS = tuple(OTHER)
WORDS = {".": "point", ",": "comma"}


@dataclass(frozen=True)
class DecimalMark:
    """The mark found before the decimals of a file, and a value that proves it."""

    mark: str
    proof: str


@dataclass
class _Seen:
    """The first value that speaks for each mark, and the first that can be read both ways."""

    proofs: dict[str, str] = field(default_factory=dict)
    unclear: dict[str, str] = field(default_factory=dict)

    def look_at(self, cells: pa.Array) -> None:
        marked = pc.unique(cells.filter(pc.match_substring_regex(cells, "[.,]")))
        for mark in MARKS:
            unclear = pc.match_substring_regex(marked, _unclear(mark))
            proves = pc.match_substring_regex(marked, _decimal(mark))
            _keep_first(self.unclear, mark, marked, unclear)
            _keep_first(self.proofs, mark, marked, pc.and_not(proves, unclear))


def _keep_first(
    kept: dict[str, str], mark: str, cells: pa.Array, mask: pa.Array
) -> None:
    position = pc.index(mask, True).as_py()
    if position >= 0:
        kept.setdefault(mark, cells[position].as_py())


def _unclear(mark: str) -> str:
    """Such as 1.234, which is a thousand and more, or one and a bit."""
    return rf"^[+-]?[1-9]\d{{0,2}}[{mark}]\d{{3}}$"


def _decimal(mark: str) -> str:
    """Such as 0.5, 1,234.5 and 1,234,567 for the point; `_unclear` ones fit it, too."""
    groups = rf"\d{{1,3}}([{OTHER[mark]}]\d{{3}})"
    alone = rf"(\d+[{mark}]\d*|[{mark}]\d+)([eE][+-]?\d+)?"
    return rf"^[+-]?({alone}|{groups}+[{mark}]\d*|{groups}{{2,}})$"


def written(value: float | Decimal) -> str:
    """A number as text that cannot be read in two ways: 1.234 gets a fourth decimal."""
    text = str(value)
    return f"{text}0" if re.fullmatch(_unclear("."), text) else text


def find_decimal(
    columns: Iterable[pa.Array], name: str, separator: str | None = None
) -> DecimalMark | None:
    """Which mark sets decimals apart in the numbers of a whole file.

    Args:
      columns: Number cells of the file as text, batch by batch.
      name: Of the file, for messages.
      separator: Of its cells. Who separates cells by commas has no decimal commas.

    Returns:
      None where every number reads alike with the point.

    Raises:
      RefusedFileError: a number such as 1.234 can be read in two ways and nothing in the
        file proves one, or both are proved.
    """
    seen = _Seen()
    for cells in columns:
        seen.look_at(cells)
    if len(seen.proofs) == len(MARKS):
        raise _contradiction(seen, name)
    for mark, proof in seen.proofs.items():
        return DecimalMark(mark, proof) if mark == "," or seen.unclear else None
    if not seen.unclear or (separator == "," and "." not in seen.unclear):
        return None
    raise _ambiguity(seen, name)


def _contradiction(seen: _Seen, name: str) -> RefusedFileError:
    return RefusedFileError(
        f"{name} writes {seen.proofs['.']} with a decimal point and {seen.proofs[',']} "
        "with a decimal comma, and can mean only one of them. Mend it, or pass --decimal "
        "'.' or --decimal ',': the others then go to quarantine."
    )


def _ambiguity(seen: _Seen, name: str) -> RefusedFileError:
    mark, sample = next(iter(seen.unclear.items()))
    return RefusedFileError(
        f"{name} writes the number {sample}, and nothing in it says whether the "
        f"{WORDS[mark]} sets thousands or decimals apart. Pass --decimal '{OTHER[mark]}' "
        f"if it sets thousands apart, or --decimal '{mark}' if it sets decimals apart; for "
        "the inbox, set decimal in [sources.NAME] of harbor.toml."
    )
