"""CSV cells that no spreadsheet executes as formulas, for the command line and the pages."""

from typing import Any


def safe_cell(value: Any) -> Any:
    """Quotes text that a spreadsheet would take for a formula; other values are unchanged."""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return "'" + value
    return value
