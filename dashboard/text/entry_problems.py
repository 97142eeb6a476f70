"""What keeps an entry in the form of changes from being saved; no I/O."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd

from dashboard.planning import adjustments, overrides
from dashboard.planning.edits import Entry
from dashboard.planning.overrides import LOCK, SET, UNLOCK, WITHDRAW, Cell, Change
from dashboard.text import formatting

UNLOCK_TOO = "Unlock and go back to the model"
MAX_DAYS = 5
"""Days that a message names."""


def all_problems(entry: Entry, made: Sequence[Change], unsure: str) -> list[str]:
    """A sentence for everything that keeps the entry from being saved.

    `unsure` is the sentence for numbers far from the model's that are not confirmed.
    """
    wrong = before_saving(entry, made)
    if not made and not wrong:
        wrong = [overrides.NOTHING]
    if unsure:
        wrong.append(unsure)
    return wrong + overrides.text_problems(entry.reason, entry.planner)


def before_saving(entry: Entry, made: Sequence[Change]) -> list[str]:
    """A sentence for a number that is not understood or out of range, and for locked days."""
    wrong = [adjustments.problem(entry.number)] if entry.action == SET else []
    wrong += overrides.range_problems(made)
    is_barred = entry.action != UNLOCK and not entry.unlock
    return [each for each in wrong if each] + (
        _locked_days(entry, made) if is_barred else []
    )


def _locked_days(entry: Entry, made: Sequence[Change]) -> list[str]:
    """A sentence for each locked day that the changes would alter.

    Of 'withdraw' it is every locked day: each goes back to the model once it is unlocked.
    """
    remedy = "Unlock it first."
    changed = {change.cell.key for change in made}
    locked = entry.chosen[entry.chosen["is_locked"]].to_dict("records")
    rows = [
        row for row in locked if (row["depot_id"], row["target_on"].date()) in changed
    ]
    if entry.action == WITHDRAW:
        rows, remedy = locked, f"Tick “{UNLOCK_TOO}”, or choose another day."
    return _first_days(
        [
            f"{formatting.day(row['target_on'])} at {row['name']} is locked by "
            f"{_locked_by(row)}. {remedy}"
            for row in rows
        ],
        "more locked day",
    )


def _locked_by(row: Mapping[Hashable, Any]) -> str:
    """Who locked a day; the number of one that was closed later counts no longer."""
    is_overruled = pd.isna(row["made_by"])
    return str(row["overruled_by"] if is_overruled else row["made_by"])


def changed_since(
    shown: Sequence[Cell],
    now: Sequence[Cell],
    names: Mapping[str, str],
    history: pd.DataFrame,
) -> str:
    """Says who changed what on the chosen days since the form first showed them, and how to go on.

    Args:
      shown: The chosen days as first shown; one at least is another now.
      now: The same days now, in the same order.
      names: The names of the depots.
      history: `queries.override_history`.
    """
    pairs = list(zip(shown, now, strict=True))
    newest = {row["override_id"]: row for row in history.to_dict("records")}
    sentences = _first_days(
        [
            f"{_place(after, names)} {_done(newest.get(after.override_id))} after you had "
            "opened it. Look at it again, then save."
            for before, after in pairs
            if before.override_id != after.override_id
        ],
        "more day",
    )
    reforecast = [
        _place(after, names)
        for before, after in pairs
        if before.override_id == after.override_id and before != after
    ]
    if reforecast:
        sentences.append(
            f"A new forecast of {formatting.listed(reforecast, MAX_DAYS)} arrived after you "
            "opened the form. Check the numbers, then save."
        )
    return " ".join(sentences)


def _first_days(sentences: Sequence[str], noun: str) -> list[str]:
    """The sentences of the first days, and the number of the others."""
    more = len(sentences) - MAX_DAYS
    if more <= 0:
        return list(sentences)
    rest = f"The same holds for {formatting.count(more, noun)}."
    return [*sentences[:MAX_DAYS], rest]


def _place(cell: Cell, names: Mapping[str, str]) -> str:
    return f"{formatting.day(cell.day_on)} at {names[cell.depot]}"


def _done(override: Mapping[Hashable, Any] | None) -> str:
    """'was set to 420 by Mara', as the database says it; the history is not endless."""
    if override is None:
        return "was changed by somebody else"
    if override["action"] == SET:
        return f"was set to {override['orders']:.0f} by {override['made_by']}"
    done = {LOCK: "locked", UNLOCK: "unlocked", WITHDRAW: "given back to the model"}
    return f"was {done[override['action']]} by {override['made_by']}"
