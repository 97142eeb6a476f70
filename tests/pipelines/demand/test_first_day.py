"""The panel begins at the first observed day."""

from datetime import timedelta

import sqlalchemy as sa

from pipelines.demand import counting
from pipelines.demand.panels import read_panel
from tests.pipelines.make import START, add_fleet, midnight_after


def test_blank_counts_before_the_first_known_day_are_no_history(clean_engine):
    last = START + timedelta(days=119)
    with clean_engine.begin() as connection:
        add_fleet(connection, n_depots=3, n_days=120)
        connection.execute(
            sa.text(
                "update daily_counts set orders = null where service_on < '2024-04-05'"
            )
        )
    counting.rebuild(clean_engine, midnight_after(last))
    panel = read_panel(clean_engine, last)
    assert panel.start_on.isoformat() == "2024-04-05"


def test_a_withdrawn_day_of_years_ago_is_no_history(clean_engine):
    """120 days; a stray count of 2021 is loaded, and then taken away."""
    last = START + timedelta(days=119)
    with clean_engine.begin() as connection:
        add_fleet(connection, n_depots=3, n_days=120)
        connection.execute(
            sa.text(
                "insert into daily_counts (depot_id, service_on, orders, file_id) values ('A0', '2021-01-01', 5, 1)"
            )
        )
    counting.rebuild(clean_engine, midnight_after(last))
    with clean_engine.begin() as connection:
        connection.execute(
            sa.text("delete from daily_counts where service_on = '2021-01-01'")
        )
    counting.rebuild(clean_engine, midnight_after(last))
    panel = read_panel(clean_engine, last)
    assert panel.start_on == START
