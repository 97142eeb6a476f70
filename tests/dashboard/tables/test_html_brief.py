"""The morning brief as HTML: headings, links, and what unfolds."""

from dashboard.tables import html_brief
from dashboard.text.brief import Decision
from tests.dashboard.cells import Cells


def make(number):
    return [
        Decision("Vans", f"Day {n}: 1 van short", f"plan?city=C{n}")
        for n in range(number)
    ]


def test_without_decisions_it_says_that_nothing_needs_you():
    html = html_brief.brief([], "Yesterday: 5 orders.", "", "")
    assert "<h2>Nothing needs you today</h2>" in html
    assert "Yesterday: 5 orders." in html
    assert "<ul>" not in html
    assert "<a " not in html


def test_each_decision_is_a_link_and_the_worst_depot_another():
    html = html_brief.brief(make(2), "Yesterday.", "LON 1", "Estimated.")
    assert "<h2>2 decisions today</h2>" in html
    links = [attrs["href"] for tag, attrs in Cells(html).tags if tag == "a"]
    assert links == ["plan?city=C0", "plan?city=C1", "depot?depot=LON+1"]
    assert "Estimated." in html


def test_beyond_five_decisions_the_others_unfold():
    html = html_brief.brief(make(7), "", "", "")
    shown, _, folded = html.partition("<details>")
    assert (shown.count("<li>"), folded.count("<li>")) == (5, 2)
    assert "<summary>2 more</summary>" in html


def test_names_are_escaped():
    nasty = [Decision("Data", "<b>x</b>: orders are missing", 'depot?depot="')]
    html = html_brief.brief(nasty, "<i>", "&", "<u>")
    assert "<b>x" not in html
    assert "<i>" not in html
    assert "<u>" not in html
    assert 'depot="' not in html
