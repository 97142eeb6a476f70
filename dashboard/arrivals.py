"""What came in, what was put aside, and what is missing, for people. No I/O."""

from collections.abc import Hashable
from html import escape
from pathlib import PurePosixPath
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from dashboard import wording

STATES = {
    "counted": ("■", "counted"),
    "missing": ("✕", "missing"),
    "closed": ("–", "closed"),
    "before": ("·", "before its first count"),
}


def files(found: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """`queries.files`, for people; times are told in `zone`."""
    return pd.DataFrame(
        {
            "File": found["path"].map(_name),
            "Kind": found["kind"],
            "Came": [wording.moment(moment, zone) for moment in found["loaded_at"]],
            "New rows": found["accepted"],
            "There already": found["unchanged"],
            "Put aside": found["rejected"],
            "Columns ignored": found["ignored_columns"].map(", ".join),
        }
    )


def rejected(found: pd.DataFrame) -> pd.DataFrame:
    """`queries.rejected`, for people."""
    return pd.DataFrame(
        {
            "File": found["path"].map(_name),
            "Why": found["reason"],
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
            "Counted to": found["last_on"],
            "Missing": found["missing"],
        }
    )
    for number, day in enumerate(days):
        table[wording.day(day)] = [states[number] for states in found["states"]]
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
        return (
            f"Every day of these four weeks on which one of the {n_depots:,} depots was "
            "open is counted."
        )
    shown = "" if n_depots == len(found) else f"; shown are the first {len(found)}"
    least = "at least " if lacking == len(found) < n_depots else ""
    return (
        f"{least}{lacking:,} of {wording.count(n_depots, 'depot')} lack days on which they "
        f"were open{shown}."
    ).capitalize()


def _row(row: dict[Hashable, Any], days: list[pd.Timestamp]) -> str:
    cells = "".join(
        f'<td class="{state}" title="{wording.day(day)}: {STATES[state][1]}">'
        f"{STATES[state][0]}</td>"
        for state, day in zip(row["states"], days, strict=True)
    )
    return f'<tr><th scope="row">{escape(row["name"])}</th>{cells}</tr>'


def _head(day: pd.Timestamp) -> str:
    if day.day_of_week != 0:
        return ""
    return f"<span>{wording.day(day).removeprefix('Mon ')}</span>"


def _name(path: str) -> str:
    return PurePosixPath(path).name or path
