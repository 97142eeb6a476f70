"""The morning brief as HTML, a link for each decision. Everything in it is escaped."""

from collections.abc import Sequence
from html import escape

from dashboard.text import formatting
from dashboard.text.brief import Decision

MAX_DECISIONS = 5
"""Decisions shown at once, so that a phone shows them in one screen."""


def brief(
    decisions: Sequence[Decision], last_day: str, worst_depot: str, caution: str
) -> str:
    """The decisions, how the last day went, and what the shortages rest on.

    Args:
      decisions: Most urgent first; the first five are shown, the others unfold.
      last_day: A sentence.
      worst_depot: depot_id of the depot it names; '' for none.
      caution: What the reader must know about the numbers; '' for nothing.
    """
    if decisions:
        heading = f"{formatting.count(len(decisions), 'decision')} today"
        first, more = decisions[:MAX_DECISIONS], decisions[MAX_DECISIONS:]
        body = f"<ul>{''.join(map(_item, first))}</ul>"
        if more:
            body += (
                f"<details><summary>{len(more):,} more</summary>"
                f"<ul>{''.join(map(_item, more))}</ul></details>"
            )
    else:
        heading, body = "Nothing needs you today", ""
    day = escape(last_day)
    if worst_depot:
        link = escape(formatting.link("depot", depot=worst_depot))
        day = f'<a href="{link}">{day}</a>'
    note = f"<p><small>{escape(caution)}</small></p>" if caution else ""
    return (
        f'<section class="hf-brief" aria-label="Today"><h2>{heading}</h2>{body}'
        f"<p>{day}</p>{note}</section>"
    )


def _item(decision: Decision) -> str:
    kind = decision.kind
    return (
        f'<li><a href="{escape(decision.link)}">'
        f'<b class="{kind.lower()}">{kind}</b> <span>{escape(decision.text)}</span></a></li>'
    )
