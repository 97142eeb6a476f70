"""The invented fleet goes in through the same door as anyone's files."""

from datetime import UTC, date, datetime

import pandas as pd
import pytest
import sqlalchemy as sa

from pipelines.demand import counting
from pipelines.demo.files import write_files
from pipelines.demo.fleet import invent
from pipelines.ingest import FileOptions, ingest
from pipelines.settings import Settings
from tests.pipelines.demo.test_fleet import read_orders


@pytest.mark.db
def test_every_order_goes_in_and_is_counted_on_its_local_day(clean_engine, tmp_path):
    """Over both changes of the clocks, with repeats and corrections, and twice."""
    fleet = invent(1, 4, 190, date(2026, 4, 5))
    write_files(fleet, tmp_path)
    first = ingest(clean_engine, [str(tmp_path)], FileOptions(force=True), Settings())
    second = ingest(clean_engine, [str(tmp_path)], FileOptions(force=True), Settings())
    assert {file.state for file in first.files} == {"loaded"}
    assert sum(file.counts.rejected for file in first.files) == 0
    assert second.is_nothing_new

    counting.rebuild(clean_engine, datetime(2026, 4, 7, 12, tzinfo=UTC))
    with clean_engine.connect() as connection:
        found = pd.read_sql(
            sa.text(
                "select depot_id, service_on, orders from demand_versions "
                "where superseded_at is null and orders > 0"
            ),
            connection,
        )
    kept = read_orders(tmp_path).drop_duplicates("order_id", keep="last")
    expected = kept.groupby(["depot_id", "day"]).size()
    assert found.set_index(["depot_id", "service_on"])["orders"].to_dict() == (
        expected.to_dict()
    )
