"""Numbers as text that can be read in one way only."""

import re


def ambiguous_pattern(mark: str) -> str:
    """Matches ambiguous numbers such as 1.234, for a decimal mark."""
    return rf"^[+-]?[1-9]\d{{0,2}}[{mark}]\d{{3}}$"


def unambiguous_text(value: float) -> str:
    """Formats a number so that it is not ambiguous: 1.234 gets a fourth decimal."""
    text = str(value)
    return f"{text}0" if re.fullmatch(ambiguous_pattern("."), text) else text
