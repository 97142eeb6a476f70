"""Parts of the page Plan."""

from datetime import date

import pandas as pd
import pytest

from dashboard.components import plan_parts, widgets

DAYS = pd.DataFrame(
    [
        ("Delft", "2026-11-27", 9, True), ("Delft", "2026-11-28", 2, False),
        ("Ghent", "2026-11-28", 5, False), ("London", "2026-11-27", 0, False),
        ("London", "2026-11-29", 3, False),
    ],
    columns=["city", "target_on", "short", "is_decided"],
).astype({"target_on": "datetime64[s]"})  # fmt: skip
DAYS["is_enough"] = DAYS["short"] == 0


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("", ("Decide on Ghent, Sat 28 Nov", True)),
        ("London", ("Decide on London, Sun 29 Nov", False)),
        ("Brussels", ("Decide on Ghent, Sat 28 Nov", False)),
    ],
)
def test_what_is_decided_next_is_of_the_same_city_then_the_first_and_largest(
    monkeypatch, after, expected
):
    shown = []
    monkeypatch.setattr(
        widgets,
        "action",
        lambda text, _, *, is_primary: shown.append((text, is_primary)),
    )
    plan_parts.next_decision(DAYS, after)
    for settled in ("is_decided", "is_enough"):
        plan_parts.next_decision(DAYS.assign(**{settled: True}), after)
    assert shown == [expected]


def test_what_is_decided_first_is_of_the_day_that_was_clicked(monkeypatch):
    shown = []
    monkeypatch.setattr(widgets, "action", lambda text, *_, **__: shown.append(text))
    for day in (date(2026, 11, 29), date(2026, 11, 30)):
        plan_parts.next_decision(DAYS, day=day)
    assert shown == ["Decide on London, Sun 29 Nov", "Decide on Ghent, Sat 28 Nov"]
