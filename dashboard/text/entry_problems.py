"""What keeps an entry in the form of changes from being saved; no I/O."""

from collections.abc import Sequence

from dashboard.planning import edits, overrides
from dashboard.planning.edits import Entry
from dashboard.planning.overrides import SET, UNLOCK, WITHDRAW, Change
from dashboard.text import formatting

UNLOCK_TOO = "Unlock and go back to the model"
MAX_LOCKED = 5
"""Locked days that a message names."""


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
    wrong = [edits.problem(entry.number)] if entry.action == SET else []
    wrong += overrides.range_problems(made)
    is_barred = entry.action != UNLOCK and not entry.unlock
    return [each for each in wrong if each] + (_locked_days(entry) if is_barred else [])


def _locked_days(entry: Entry) -> list[str]:
    remedy = "Unlock it first."
    if entry.action == WITHDRAW:
        remedy = f"Tick “{UNLOCK_TOO}”, or choose another day."
    rows = entry.chosen[entry.chosen["is_locked"]].to_dict("records")
    named = [
        f"{formatting.day(row['target_on'])} at {row['name']} is locked by "
        f"{row['made_by']}. {remedy}"
        for row in rows[:MAX_LOCKED]
    ]
    more = formatting.count(len(rows) - MAX_LOCKED, "more locked day")
    return [*named, f"The same holds for {more}."] if len(rows) > MAX_LOCKED else named
