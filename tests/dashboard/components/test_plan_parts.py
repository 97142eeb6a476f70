"""Parts of the page Plan."""

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
    plan_parts.next_decision(DAYS.assign(is_decided=True), after)
    assert shown == [expected]
