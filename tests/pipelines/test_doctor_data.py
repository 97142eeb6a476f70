"""What `harbor doctor` says of how old the data is."""

from datetime import date

import pytest

from pipelines.cli import doctor


@pytest.mark.parametrize(
    ("newest", "is_fine", "said"),
    [
        (date(2026, 3, 9), True, "ends 2026-03-09, 0 days late"),
        (date(2026, 3, 8), False, "ends 2026-03-08, 1 day late"),
        (date(2026, 3, 1), False, "ends 2026-03-01, 8 days late"),
        (date(2026, 3, 10), True, "ends 2026-03-10, 0 days late"),
    ],
)
def test_data_that_ends_before_the_day_that_is_due_is_late(newest, is_fine, said):
    found = doctor.lateness(newest, due_on=date(2026, 3, 9))
    assert (found.good, found.says) == (is_fine, said)
