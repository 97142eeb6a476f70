"""What came in, what could not be read, and what is missing, for people. No I/O."""

from collections.abc import Hashable
from html import escape
from pathlib import PurePosixPath
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from dashboard.text import formatting

MENDING = "[How to fix a file](#fix)"
HOW_TO_MEND = """
1. **The file is wrong:** correct it, or ask its sender to. Put it into the inbox for the next
   nightly run, or load it now with `harbor ingest PATH`. Send the whole file, under any name: rows
   that are already loaded are not counted twice.
2. **The columns have other names:** map them, as in
   `harbor ingest PATH --column depot_id=SHOP --column ordered_at=TIME`.
3. **The dates have another format:** give it, as in
   `harbor ingest PATH --date-format "%d/%m/%Y %H:%M"`. Rows of a file that was loaded are
   read again with `harbor quarantine replay --date-format "%d/%m/%Y %H:%M"`.

The page *Correct a wrong file* (`deploy/docs/correct-a-file.md`) shows each with its output.
"""
STATES = {
    "counted": ("■", "data"),
    "missing": ("✕", "missing"),
    "closed": ("–", "closed"),
    "before": ("·", "before first data"),
}


def files(found: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """The files of `queries.files` that were loaded, for people.

    Args:
      found: Files, refused ones among them.
      zone: In which times are told.
    """
    loaded = found[found["refused_because"].isna()]
    return pd.DataFrame(
        {
            "File": loaded["path"].map(_name),
            "Kind": loaded["kind"],
            "Loaded": [formatting.moment(moment, zone) for moment in loaded["came_at"]],
            "New rows": loaded["accepted"].astype("Int64"),
            "Unchanged rows": loaded["unchanged"].astype("Int64"),
            "Rejected rows": loaded["rejected"].astype("Int64"),
            "Ignored columns": loaded["ignored_columns"].map(", ".join),
        }
    )


def refused(found: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """The files of `queries.files` of which nothing was loaded, for people.

    Args:
      found: Files, loaded ones among them.
      zone: In which times are told.
    """
    none_of = found[found["refused_because"].notna()]
    return pd.DataFrame(
        {
            "File": none_of["path"].map(_name),
            "Refused": [
                formatting.moment(moment, zone) for moment in none_of["came_at"]
            ],
            "Reason and fix": none_of["refused_because"],
        }
    )


def rejected(found: pd.DataFrame) -> pd.DataFrame:
    """`queries.rejected`, for people."""
    return pd.DataFrame(
        {
            "File": found["path"].map(_name),
            "Reason": found["reason"],
            "Rows": found["n_rows"],
            "First line": found["first_line"].astype("Int64"),
            "Column": found["column_name"],
            "Value": found["value"],
        }
    )


def calendar(found: pd.DataFrame, days: list[pd.Timestamp]) -> pd.DataFrame:
    """`queries.calendar` with a column per day, for people."""
    table = pd.DataFrame(
        {
            "Depot": found["name"],
            "Depot id": found["depot_id"],
            "City": found["city"],
            "Data to": found["last_on"],
            "Missing": found["missing"],
        }
    )
    for number, day in enumerate(days):
        table[formatting.day(day)] = [states[number] for states in found["states"]]
    return table


def grid(found: pd.DataFrame, days: list[pd.Timestamp]) -> str:
    """Depots × days as HTML, a sign for each day; Mondays are named.

    Args:
      found: As `queries.calendar` returns it, not empty.
      days: Of the states, oldest first.
    """
    heads = "".join(f'<th scope="col">{_head(day)}</th>' for day in days)
    rows = "".join(_row(row, days) for row in found.to_dict("records"))
    return (
        f'<table class="hf hf-calendar"><thead><tr><th scope="col">Depot</th>{heads}'
        f"</tr></thead><tbody>{rows}</tbody></table>"
    )


def legend() -> str:
    """What the signs of the grid mean."""
    return ", ".join(f"{sign} {meaning}" for sign, meaning in STATES.values())


def sentence(found: pd.DataFrame) -> str:
    """How whole the last four weeks are.

    Args:
      found: As `queries.calendar` returns it, not empty.
    """
    n_depots, lacking = (
        int(found["n_depots"].iloc[0]),
        int((found["missing"] > 0).sum()),
    )
    if not lacking:
        return f"No missing days in the last four weeks ({n_depots:,} depots)."
    shown = "" if n_depots == len(found) else f"; the first {len(found)} are shown"
    least = "at least " if lacking == len(found) < n_depots else ""
    return (
        f"{least}{lacking:,} of {formatting.count(n_depots, 'depot')} have missing days{shown}."
    ).capitalize()


def _row(row: dict[Hashable, Any], days: list[pd.Timestamp]) -> str:
    cells = "".join(
        f'<td class="{state}" title="{formatting.day(day)}: {STATES[state][1]}">'
        f"{STATES[state][0]}</td>"
        for state, day in zip(row["states"], days, strict=True)
    )
    return f'<tr><th scope="row">{escape(row["name"])}</th>{cells}</tr>'


def _head(day: pd.Timestamp) -> str:
    if day.day_of_week != 0:
        return ""
    return f"<span>{formatting.day(day).removeprefix('Mon ')}</span>"


def _name(path: str) -> str:
    return PurePosixPath(path).name or path
