"""Parts of the page Plan."""

from datetime import date

import pandas as pd
import pytest

from dashboard.components import plan_parts, widgets

DAYS = pd.DataFrame(
    [
        ("Delft", "2026-11-27", 9, False), ("Delft", "2026-11-28", 2, True),
        ("Ghent", "2026-11-28", 5, True), ("London", "2026-11-27", 0, False),
        ("London", "2026-11-29", 3, True),
    ],
    columns=["city", "target_on", "short", "is_due"],
).astype({"target_on": "datetime64[s]"})  # fmt: skip


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        (None, ["Ghent 5", "Delft 2"]),
        (date(2026, 11, 29), ["Decide on London, Sun 29 Nov"]),
        (date(2026, 11, 27), ["Ghent 5", "Delft 2"]),
    ],
)
def test_what_is_decided_next_is_of_the_same_day_then_the_first_and_largest(
    monkeypatch, day, expected
):
    shown = []
    monkeypatch.setattr(
        widgets,
        "action",
        lambda text, _, *, is_primary: shown.append((text, is_primary)),
    )
    for is_primary in (True, False):
        plan_parts.next_decision(DAYS, day, is_primary=is_primary)
    plan_parts.next_decision(DAYS.assign(is_due=False), day)
    first, *others = [(name, False) for name in expected]
    assert shown == [(first[0], True), *others, first, *others]


def test_a_citys_next_decision_comes_alone(monkeypatch):
    shown = []
    monkeypatch.setattr(widgets, "action", lambda text, _, **__: shown.append(text))
    plan_parts.next_decision(DAYS, None, "Delft")
    assert shown == ["Decide on Delft, Sat 28 Nov"]
