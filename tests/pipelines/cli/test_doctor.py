"""Findings of `harbor doctor` on late data and odd time zones."""

from datetime import date

import pytest

from pipelines.cli import doctor
from pipelines.store.depots import far_from_their_city
from tests.pipelines.make import add_depot


@pytest.mark.parametrize(
    ("newest", "is_fine", "message"),
    [
        (date(2026, 3, 9), True, "ends 2026-03-09, 0 days late"),
        (date(2026, 3, 8), False, "ends 2026-03-08, 1 day late"),
        (date(2026, 3, 1), False, "ends 2026-03-01, 8 days late"),
        (date(2026, 3, 10), True, "ends 2026-03-10, 0 days late"),
    ],
)
def test_data_that_ends_before_the_day_that_is_due_is_late(newest, is_fine, message):
    finding = doctor.data_finding(newest, due_on=date(2026, 3, 9))
    assert (finding.good, finding.says) == (is_fine, message)


@pytest.mark.db
def test_a_depot_whose_zone_is_far_from_the_rest_of_its_city_is_named(connection):
    for depot_id in "ABC":
        add_depot(connection, depot_id)
    add_depot(connection, "D", timezone="Europe/London")
    add_depot(connection, "E", city="Honolulu", timezone="Pacific/Honolulu")
    assert doctor.zone_finding(far_from_their_city(connection)).good
    add_depot(connection, "F", timezone="Pacific/Honolulu")
    finding = doctor.zone_finding(far_from_their_city(connection))
    assert not finding.good
    assert "F (Pacific/Honolulu; Delft is in Europe/Amsterdam)" in finding.says
    assert "'harbor ingest'" in finding.says
