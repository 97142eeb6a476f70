"""Tables as files that any spreadsheet opens and none executes."""

from typing import Any

import pandas as pd

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def safe_cell(value: Any) -> Any:
    """A cell of a CSV; text that a spreadsheet would take for a formula is quoted."""
    if isinstance(value, str) and value.startswith(FORMULA):
        return "'" + value
    return value


def csv(table: pd.DataFrame) -> bytes:
    """A table as a CSV; numbers stay numbers, days become ISO dates."""
    plain = table.copy()
    for name in plain.select_dtypes("datetime"):
        plain[name] = plain[name].dt.strftime("%Y-%m-%d")
    safe = plain.apply(lambda column: column.map(safe_cell))
    safe.columns = [safe_cell(name) for name in plain.columns]
    return safe.to_csv(index=False, lineterminator="\n").encode("utf-8-sig")
