"""The morning brief as HTML: headings, links, and what unfolds."""

import re
from dataclasses import replace

from dashboard.tables import html_brief
from dashboard.text.brief import Decision
from tests.dashboard.cells import Cells


def make(number):
    return [
        Decision("Data", f"Depot {n}: no orders yet", f"depot?depot=D{n}")
        for n in range(number)
    ]


def test_without_decisions_it_says_that_nothing_needs_you():
    html = html_brief.brief([], "", "Yesterday: 5 orders.", "", [])
    assert "<h2>Nothing needs you today</h2>" in html
    assert "Yesterday: 5 orders." in html
    assert "<ul>" not in html
    assert "<a " not in html


def test_with_an_old_forecast_it_does_not_say_that_nothing_needs_you():
    html = html_brief.brief([], "", "", "", [], is_current=False)
    assert "Nothing needs you" not in html
    assert "What needs you today is not known yet" in html


def test_each_decision_is_a_link_and_the_last_day_another():
    html = html_brief.brief(make(2), "", "Yesterday.", "accuracy?period=2026-11-29", [])
    assert "<h2>2 things to look at today</h2>" in html
    assert addresses(html) == [
        "depot?depot=D0",
        "depot?depot=D1",
        "accuracy?period=2026-11-29",
    ]


def addresses(html):
    return [attrs["href"] for tag, attrs in Cells(html).tags if tag == "a"]


def test_a_shortage_leads_to_its_day_and_each_city_to_its_own():
    places = (("London 5", "plan?city=London"), ("Delft 4", "plan?city=Delft"))
    severe = Decision(
        "Vans", "Fri: 9 vans short", "plan?day=F", places=places, is_severe=True
    )
    mild = Decision("Vans", "Thu: 1 van short", "plan?day=T")
    html = html_brief.brief([severe, mild], "2 days short of vans", "", "", [])
    assert "<h2>2 days short of vans</h2>" in html
    assert addresses(html) == [
        "plan?day=F", "plan?city=London", "plan?city=Delft", "plan?day=T",
    ]  # fmt: skip
    classes = [attrs.get("class") for tag, attrs in Cells(html).tags if tag == "b"]
    assert classes == ["vans severe", "vans"]
    both = html_brief.brief([mild, *make(2)], "Thu short of vans", "", "", [])
    assert "<h2>Thu short of vans; 2 more things to look at</h2>" in both


def test_what_is_decided_is_counted_apart():
    decided = Decision("Vans", "Fri: 9 hired", "plan?day=F", is_decided=True)
    left = Decision("Vans", "Thu: 1 van short", "plan?day=T")
    html = html_brief.brief([left, decided], "1 day short of vans", "", "", [])
    assert "<h2>1 day short of vans</h2>" in html
    assert '<li class="decided">' in html
    covered = replace(decided, is_covered=True)
    assert '<li class="covered">' in html_brief.brief([covered], "", "", "", [])
    alone = html_brief.brief([decided], "", "", "", [])
    assert "<h2>Nothing needs you today: 1 shortage settled</h2>" in alone
    both = html_brief.brief([*make(2), decided], "", "", "", [])
    assert "<h2>2 things to look at today, 1 decided</h2>" in both


def test_estimated_vans_lead_to_the_settings_of_their_cities():
    html = html_brief.brief([], "", "", "", ["The Hague", *"ABCDEF"])
    assert addresses(html)[0] == "plan?city=The+Hague&form=settings"
    assert len(addresses(html)) == 5
    assert "and 2 more cities: set your own there." in html


def test_beyond_seven_decisions_the_others_unfold():
    html = html_brief.brief(make(9), "", "", "", [])
    shown, _, folded = html.partition("<details>")
    assert (shown.count("<li>"), folded.count("<li>")) == (7, 2)
    assert "<summary>2 more</summary>" in html
    eight = html_brief.brief(make(8), "", "", "", [])
    assert eight.count("<li>") == 8, "a single one is not worth a click"
    assert "<details>" not in eight


def test_what_is_decided_is_never_among_the_folded_rest():
    decided = Decision("Vans", "Fri: 9 hired", "plan?day=F", is_decided=True)
    html = html_brief.brief([*make(9), decided], "", "", "", [])
    unfolded = re.sub("<details>.*?</details>", "", html)
    assert unfolded.count("<li>") == 7
    assert '<li class="decided">' in unfolded
    many = html_brief.brief([decided] * 9, "", "", "", [])
    assert "<summary>2 more decided</summary>" in many


def test_of_what_hired_vans_cover_the_rest_is_folded():
    hired = Decision("Vans", "Fri: 9", "plan", is_decided=True, is_covered=True)
    risk = Decision("Vans", "Sat: 4 short", "plan", is_decided=True)
    html = html_brief.brief([hired, risk, *[hired] * 4], "", "", "", [])
    shown, _, folded = html.partition("<details>")
    assert "<summary>2 more covered by hired vans</summary>" in folded
    assert (shown.count("<li"), folded.count("<li")) == (4, 2)
    assert "4 short" in shown
    alone = html_brief.brief([hired, risk], "", "", "", [])
    assert (alone.count("<li"), "<details>" in alone) == (2, False)


def test_names_are_escaped():
    nasty = [Decision("Data", "<b>x</b>: orders are missing", 'depot?depot="', "<em>")]
    html = html_brief.brief(nasty, "", "<i>", "&", ["<u>"])
    assert "<b>x" not in html
    assert "<i>" not in html
    assert "<small>&lt;em&gt;</small>" in html
    assert "<u>" not in html
    assert 'depot="' not in html
