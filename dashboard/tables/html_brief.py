"""The morning brief as HTML, with a link for each decision. All texts are escaped."""

from collections.abc import Sequence
from html import escape

from dashboard.text import formatting
from dashboard.text.brief import VANS, Decision
from dashboard.text.formatting import plan_link

MAX_DECISIONS, MAX_COVERED, MAX_CITIES = 7, 3, 5
"""Decisions listed before the rest unfold; those covered by hired vans; cities named."""


def brief(
    decisions: Sequence[Decision],
    short_days: str,
    last_day: str,
    address: str,
    estimated: Sequence[str],
    is_current: bool = True,
) -> str:
    """Returns the brief: decisions, the last day's accuracy, cities with estimated vans.

    Args:
      decisions: In order. The first seven open, the first seven decided ones, and the first three
        that hired vans cover are shown; the others unfold.
      short_days: Summary of the days short of vans, from `plan_summaries.short_days`.
      last_day: Sentence on the accuracy of the last day.
      address: Address of that day's accuracy by depot; '' for none.
      estimated: Cities whose shortages rest on estimated vans.
      is_current: Whether the forecast was made from the newest orders that are due.
    """
    left = [each for each in decisions if not each.is_decided]
    decided = [each for each in decisions if each.is_decided]
    open_ = [each for each in decided if not each.is_covered]
    covered = [each for each in decided if each.is_covered]
    body = _items(left, "more") + _items(open_, "more decided")
    body += _items(covered, "more covered by hired vans", MAX_COVERED)
    name, colon, told = last_day.partition(":")
    day = (_link(address, name) if address else escape(name)) + escape(colon + told)
    heading = _heading(left, len(decided), short_days, is_current)
    return (
        f'<section class="hf-brief" aria-label="Today"><h2>{heading}</h2>{body}'
        f"<p>{day}</p>{_caution(estimated)}</section>"
    )


def _items(decisions: Sequence[Decision], more: str, most: int = MAX_DECISIONS) -> str:
    """A list of the first `most` decisions; the others unfold, unless there is only one more."""
    most += most == len(decisions) - 1
    first, others = decisions[:most], decisions[most:]
    body = f"<ul>{''.join(map(_item, first))}</ul>" if first else ""
    if not others:
        return body
    return (
        f"{body}<details><summary>{len(others):,} {more}</summary>"
        f"<ul>{''.join(map(_item, others))}</ul></details>"
    )


def _heading(
    left: Sequence[Decision], n_decided: int, short_days: str, is_current: bool
) -> str:
    decided = f", {n_decided:,} decided" if n_decided else ""
    if not left and not is_current:
        return "What needs you today is not known yet: the forecast is out of date"
    if not left:
        shortages = formatting.count(n_decided, "shortage")
        return f"Nothing needs you today{f': {shortages} settled' if n_decided else ''}"
    n_others = sum(decision.kind != VANS for decision in left)
    if n_others < len(left):
        others = formatting.count(n_others, "more thing")
        return short_days + (f"; {others} to look at" if n_others else "")
    return f"{formatting.count(len(left), 'thing')} to look at today{decided}"


def _caution(estimated: Sequence[str]) -> str:
    """Links to the settings of the cities whose vans are estimated."""
    if not estimated:
        return ""
    links = [_link(plan_link(city, form="settings"), city) for city in estimated]
    return (
        f"<p><small>Vans are estimates in {formatting.listed(links, MAX_CITIES, 'cities')}: "
        "set your own there.</small></p>"
    )


def _item(decision: Decision) -> str:
    kind, severe = decision.kind, " severe" * decision.is_severe
    places = "".join(_link(address, name) for name, address in decision.places)
    cities = f'<span class="places">Decide: {places}</span>' if places else ""
    state = "covered" if decision.is_covered else "decided" * decision.is_decided
    css_class = f' class="{state}"' if state else ""
    link = _link(decision.link, decision.text, decision.about)
    return (
        f'<li{css_class}><b class="{kind.lower()}{severe}">{kind}</b>'
        f"<div>{link}{cities}</div></li>"
    )


def _link(address: str, text: str, below: str = "") -> str:
    small = f"<small>{escape(below)}</small>" if below else ""
    return f'<a href="{escape(address)}">{escape(text)}{small}</a>'
