"""Days in SQL, on a server whose clocks change at midnight."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from pipelines.schema import orders
from pipelines.schema.closures import CLOSED_BY_EVENT
from pipelines.settings.countries import known_zones
from pipelines.store import order_counts
from pipelines.store.demand import recount
from tests.pipelines.make import add_depot, add_event

# Clocks in Santiago go from 24:00 on Saturday 7 September 2024 to 01:00.
CHILE = "set local timezone = 'America/Santiago'"


def test_an_event_closes_its_last_day_on_a_server_whose_clocks_change_at_midnight(
    connection,
):
    add_depot(connection)
    add_event(connection, "closed", date(2024, 9, 6), date(2024, 9, 9))
    connection.execute(sa.text(CHILE))
    span = {"closed_from": date(2024, 1, 1), "closed_to": date(2024, 12, 31)}
    days = connection.execute(sa.text(CLOSED_BY_EVENT), span)
    assert sorted(row.day_on.day for row in days) == [6, 7, 8, 9]


def test_a_quiet_day_is_0_on_a_server_whose_clocks_change_at_midnight(connection):
    first = date(2024, 8, 26)
    # Depot B has no orders from Saturday 7 to Monday 9 September, a feed of both does.
    for depot in "AB":
        add_depot(connection, depot, timezone="America/Santiago", country="CL")
    noon = datetime.min.time().replace(hour=12)
    rows = [
        {"order_id": f"{depot}{day}-{n}", "depot_id": depot, "file_id": day + 1,
         "ordered_local": datetime.combine(first + timedelta(days=day), noon)}
        for depot in "AB" for day in range(21)
        for n in range(40 if depot == "A" else 2)
        if depot == "A" or day not in (12, 13, 14)
    ]  # fmt: skip
    connection.execute(sa.insert(orders), rows)
    order_counts.mark_all(connection)
    connection.execute(sa.text(CHILE))
    today = first + timedelta(days=21)
    recount(connection, today, datetime.combine(today, noon, UTC))
    counts = connection.execute(
        sa.text("select service_on, orders from demand_versions "
                "where depot_id = 'B' and superseded_at is null and orders = 0 order by 1")
    ).all()  # fmt: skip
    assert [day.day for day, _ in counts] == [7, 8, 9]


def test_postgres_reads_every_known_zone_as_python_does(connection):
    """It reads CET, EET, MET and WET as abbreviations of standard time, in summer, too."""
    summer = datetime(2023, 7, 1, 22, 30, tzinfo=UTC)
    local = sa.text("select cast(:moment as timestamptz) at time zone :zone")
    different = [
        zone
        for zone in sorted(known_zones())
        if connection.scalar(local, {"moment": summer, "zone": zone})
        != summer.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    ]
    assert different == []
    assert {"Europe/Brussels", "UTC", "Etc/GMT+5"} <= known_zones()
