"""What keeps an entry in the form of changes from being saved; no I/O."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd

from dashboard.planning import adjustments, overrides
from dashboard.planning.edits import SET, Entry
from dashboard.planning.overrides import Cell, Change
from dashboard.text import formatting

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
    """A sentence for a number that is not understood or out of range."""
    wrong = [adjustments.problem(entry.number)] if entry.action == SET else []
    return [each for each in wrong if each] + overrides.range_problems(made)


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
    orders = override["orders"]
    planner = override["made_by"]
    if pd.isna(orders):
        return f"was given back to the model by {planner}"
    return f"was set to {orders:.0f} by {planner}"
