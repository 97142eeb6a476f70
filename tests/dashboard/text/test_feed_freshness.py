"""The sentence about a late depot."""

from datetime import date

from dashboard.queries.types import Lateness
from dashboard.text import feed_freshness

FRIDAY, SATURDAY = date(2025, 11, 21), date(2025, 11, 22)


def test_a_late_depot_is_told_with_both_days_and_what_to_do():
    said = feed_freshness.warning(Lateness(FRIDAY, SATURDAY, is_late=True))
    assert said is not None
    assert "newest orders are from Fri 21 Nov, but those of Sat 22 Nov are due" in said
    assert "`harbor ingest PATH`" in said


def test_a_depot_without_any_orders_is_told_apart():
    said = feed_freshness.warning(Lateness(None, SATURDAY, is_late=True))
    assert said is not None
    assert "This depot has no data, although it was open on Sat 22 Nov" in said


def test_a_depot_that_is_on_time_gets_no_sentence():
    assert feed_freshness.warning(Lateness(SATURDAY, SATURDAY, is_late=False)) is None
    assert feed_freshness.warning(Lateness(FRIDAY, None, is_late=False)) is None
