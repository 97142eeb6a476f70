"""Detects the decimal mark of the numbers in a file."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from forecaster.errors import RefusedFileError

OTHER_MARK = {".": ",", ",": "."}
MARKS = tuple(OTHER_MARK)
MARK_NAMES = {".": "point", ",": "comma"}


@dataclass(frozen=True)
class DecimalMark:
    """The decimal mark detected in a file, and a value that proves it."""

    mark: str
    proof: str


@dataclass
class _MarkEvidence:
    """The first value that proves each mark, and the first ambiguous one."""

    proofs: dict[str, str] = field(default_factory=dict)
    ambiguous: dict[str, str] = field(default_factory=dict)

    def add(self, cells: pa.Array) -> None:
        marked = pc.unique(cells.filter(pc.match_substring_regex(cells, "[.,]")))
        for mark in MARKS:
            ambiguous = pc.match_substring_regex(marked, _ambiguous_pattern(mark))
            proves = pc.match_substring_regex(marked, _decimal(mark))
            _keep_first(self.ambiguous, mark, marked, ambiguous)
            _keep_first(self.proofs, mark, marked, pc.and_not(proves, ambiguous))


def _keep_first(
    kept: dict[str, str], mark: str, cells: pa.Array, mask: pa.Array
) -> None:
    position = pc.index(mask, True).as_py()
    if position >= 0:
        kept.setdefault(mark, cells[position].as_py())


def _ambiguous_pattern(mark: str) -> str:
    """Matches ambiguous numbers such as 1.234, for a decimal mark."""
    return rf"^[+-]?[1-9]\d{{0,2}}[{mark}]\d{{3}}$"


def _decimal(mark: str) -> str:
    """Matches 0.5, 1,234.5 and 1,234,567 for the point; ambiguous numbers as well."""
    groups = rf"\d{{1,3}}([{OTHER_MARK[mark]}]\d{{3}})"
    alone = rf"(\d+[{mark}]\d*|[{mark}]\d+)([eE][+-]?\d+)?"
    return rf"^[+-]?({alone}|{groups}+[{mark}]\d*|{groups}{{2,}})$"


def unambiguous_text(value: float | Decimal) -> str:
    """Formats a number so that it is not ambiguous: 1.234 gets a fourth decimal."""
    text = str(value)
    return f"{text}0" if re.fullmatch(_ambiguous_pattern("."), text) else text


def detect_decimal_mark(
    columns: Iterable[pa.Array], name: str, separator: str | None = None
) -> DecimalMark | None:
    """Detects the decimal mark in the numbers of a whole file.

    Args:
      columns: Number cells of the file as text, batch by batch.
      name: File name, for messages.
      separator: Separator of its cells; a comma rules decimal commas out.

    Returns:
      None if every number reads alike with the point.

    Raises:
      RefusedFileError: a number such as 1.234 can be read in two ways and nothing in the
        file proves one, or both are proved.
    """
    evidence = _MarkEvidence()
    for cells in columns:
        evidence.add(cells)
    if len(evidence.proofs) == len(MARKS):
        raise _contradiction_error(evidence, name)
    for mark, proof in evidence.proofs.items():
        return DecimalMark(mark, proof) if mark == "," or evidence.ambiguous else None
    if not evidence.ambiguous or (separator == "," and "." not in evidence.ambiguous):
        return None
    raise _ambiguity_error(evidence, name)


def _contradiction_error(evidence: _MarkEvidence, name: str) -> RefusedFileError:
    return RefusedFileError(
        f"{name} writes {evidence.proofs['.']} with a decimal point and {evidence.proofs[',']} "
        "with a decimal comma, and can mean only one of them. Mend it, or pass --decimal "
        "'.' or --decimal ',': the others then go to quarantine."
    )


def _ambiguity_error(evidence: _MarkEvidence, name: str) -> RefusedFileError:
    mark, sample = next(iter(evidence.ambiguous.items()))
    return RefusedFileError(
        f"{name} writes the number {sample}, and nothing in it says whether the "
        f"{MARK_NAMES[mark]} sets thousands or decimals apart. Pass --decimal '{OTHER_MARK[mark]}' "
        f"if it sets thousands apart, or --decimal '{mark}' if it sets decimals apart; for "
        "the inbox, set decimal in [sources.NAME] of harbor.toml."
    )
