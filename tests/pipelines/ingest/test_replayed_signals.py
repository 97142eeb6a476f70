"""A signal's row out of quarantine counts again once the later file is withdrawn."""

from datetime import UTC, datetime

import pandas as pd
import pytest

from pipelines.demand.panels import signals_as_known
from pipelines.ingest.load import FileOptions, replay
from pipelines.ingest.load.withdrawal import withdraw
from tests.pipelines.ingest.ingesting import SETTINGS, load_one, write
from tests.pipelines.make import START, count_fleet, query

NOW = datetime(2026, 6, 1, 9, tzinfo=UTC)
SIGNALS = "signal,depot_id,date,value,known_from\n"
DEPOT = "depot_id,name,city,timezone,country\nNEW,New,Delft,Europe/Amsterdam,NL\n"


def standing(engine):
    return query(
        engine,
        "select value, withdrawn, path from signal_versions join files using (file_id) "
        "where superseded_at is null and signal = 'booked'",
    )


@pytest.mark.parametrize("value", [7, 5], ids=["other value", "same value"])
@pytest.mark.parametrize("first", ["replay", "withdraw"])
def test_a_replayed_signal_stands_once_the_later_file_is_withdrawn(
    clean_engine, tmp_path, first, value
):
    count_fleet(clean_engine, n_days=2)
    row = f"booked,NEW,{START},{{}},{START}\n"
    early = write(tmp_path / "early.csv", SIGNALS + row.format(5))
    assert load_one(clean_engine, early).counts.rejected == 1  # no such depot yet
    load_one(clean_engine, write(tmp_path / "depots.csv", DEPOT))
    later = write(
        tmp_path / "later.csv", SIGNALS + row.format(value) + f"rain,NEW,{START},1,\n"
    )
    load_one(clean_engine, later)
    ((later_id,),) = query(
        clean_engine, "select file_id from files where path like '%later.csv'"
    )

    def again():
        return replay(clean_engine, FileOptions(), SETTINGS, NOW)

    if first == "replay":
        again()
        withdraw(clean_engine, [later_id])
    else:
        withdraw(clean_engine, [later_id])
        again()
    ((stands, withdrawn, path),) = standing(clean_engine)
    assert (stands, withdrawn, path.rsplit("/", 1)[-1]) == (5, False, "early.csv")


def test_no_origin_knows_a_value_that_was_replayed_below_a_later_files():
    versions = pd.DataFrame(
        {"version": [0, 1], "known_at": NOW, "superseded_at": [NOW, None]}
    )
    below, first = signals_as_known(versions, SETTINGS.zone).to_dict("records")
    assert below["corrected_from"] == below["known_until"]
    assert pd.isna(first["corrected_from"])
