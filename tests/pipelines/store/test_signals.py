"""Signals keep what was known when: by their files, by arrival, and once taken back."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from forecaster.errors import BadInputError
from pipelines.demand.panels import PanelsAsKnown, read_panel
from pipelines.ingest.load import FileOptions, ReplayResult, replay
from pipelines.ingest.load.withdrawal import withdraw
from pipelines.store import files as files_store
from pipelines.store.signal_summaries import SignalSummary, summaries
from tests.pipelines.ingest.ingesting import (
    SETTINGS,
    counts,
    load,
    load_one,
    quarantined,
    row_loader,
    write,
)
from tests.pipelines.make import START, count_fleet, query

HEADER = "signal,depot_id,date,value"
DAYS = 40
LAST = START + timedelta(days=DAYS - 1)
AHEAD = LAST + timedelta(days=4)


@pytest.fixture
def fleet(clean_engine, at_night):
    """Depots A0 and A1 of Delft."""
    count_fleet(clean_engine, n_days=DAYS)
    at_night(LAST)
    return clean_engine


@pytest.fixture
def at_night(monkeypatch):
    """Sets the day in the night after which files arrive."""

    def set_to(day):
        monkeypatch.setattr("pipelines.store.ingest.now", lambda _: night_after(day))

    return set_to


def night_after(day):
    return datetime(day.year, day.month, day.day, 3, tzinfo=UTC) + timedelta(days=1)


@pytest.fixture
def loader(fleet, tmp_path):
    return row_loader(fleet, tmp_path, "signals")


def versions(engine):
    """Every version: known_from (None: always), version, value, withdrawn, whether it stands."""
    return query(
        engine,
        "select nullif(known_from, '0001-01-01'), version, value, withdrawn, "
        "superseded_at is null from signal_versions "
        "order by signal, depot_id, city, day_on, known_from, version",
    )


def known(panel, day=AHEAD, days=1, depot=0):
    """Values known of the only signal, so many days before a day."""
    if panel.signals is None:
        return None
    value = panel.signals.known_ahead(days)[0, depot, panel.step(day)]
    return None if np.isnan(value) else float(value)


def test_a_value_of_a_file_is_in_the_panel(fleet, loader):
    report = loader(
        "signal,depot_id,city,date,value",
        f"Booked,A0,,{AHEAD},12.5",
        f"booked,,Delft,{AHEAD},3",
    )
    assert counts(report, "signals") == (2, 0, 0)
    panel = read_panel(fleet, LAST)
    assert panel.signals.names == ("booked",)
    assert (known(panel), known(panel, depot=1)) == (12.5, 3.0)


def test_each_night_a_new_value_stands_beside_those_before(fleet, loader, at_night):
    """Without known_from: what was booked four, three and two days ahead."""
    for night, value in (
        (LAST, 5),
        (LAST + timedelta(days=1), 5),
        (LAST + timedelta(days=2), 9),
    ):
        at_night(night)
        loader(HEADER, f"booked,A0,{AHEAD},{value}")
    # The second night's value was known already, and is not kept twice.
    assert versions(fleet) == [
        (LAST, 1, 5.0, False, True),
        (LAST + timedelta(days=2), 1, 9.0, False, True),
    ]
    panels = PanelsAsKnown(fleet, LAST, SETTINGS.zone)
    assert known(panels.at(LAST)) == known(read_panel(fleet, LAST)) == 5


def test_loaded_history_was_always_known_and_a_later_file_corrects_it(fleet, loader):
    day = LAST - timedelta(days=9)
    loader(HEADER, f"rain,A0,{day},5")
    loader(HEADER, f"rain,A0,{day},6")
    assert versions(fleet) == [(None, 1, 5, False, False), (None, 2, 6, False, True)]
    panel = read_panel(fleet, LAST)
    assert [known(panel, day, days) for days in (20, 7, 1)] == [6, 6, 6]


def test_what_comes_after_its_day_does_not_pass_for_known_before_it(
    fleet, loader, at_night
):
    """A weather service that sends forecasts, then what was measured."""
    day = LAST - timedelta(days=2)
    at_night(day - timedelta(days=3))
    loader(HEADER, f"rain,A0,{day},5")
    at_night(LAST)
    loader(HEADER, f"rain,A0,{day},8")
    panel = read_panel(fleet, LAST)
    assert [known(panel, day, days) for days in (4, 3, 1, 0)] == [None, 5, 5, 5]


def test_a_correction_is_known_to_past_origins_from_its_arrival(
    fleet, loader, at_night
):
    day, since = LAST - timedelta(days=1), LAST - timedelta(days=9)
    row = f"booked,A0,{day},{{}},{since}"
    at_night(since)
    loader(f"{HEADER},known_from", row.format(5))
    at_night(LAST - timedelta(days=3))
    report = loader(f"{HEADER},known_from", row.format(6))
    assert counts(report, "signals") == (1, 0, 0)
    panels = PanelsAsKnown(fleet, LAST, SETTINGS.zone)
    assert known(panels.at(LAST - timedelta(days=4)), day) == 5
    assert known(panels.at(LAST - timedelta(days=3)), day) == 6
    assert [known(panels.at(LAST), day, days) for days in (9, 8, 3, 2)] == [
        None,
        5,
        5,
        6,
    ]
    # As of today, what was wrong is mended for all of its leads.
    assert [known(read_panel(fleet, LAST), day, days) for days in (9, 8, 2)] == [
        None,
        6,
        6,
    ]


TOO_LATE = AHEAD + timedelta(days=1)
BAD = [
    (f"booked,Z9,,{AHEAD},1,", "depot_id", "Z9", "is not a depot of the fleet"),
    (f"rain,,Atlantis,{AHEAD},1,", "city", "Atlantis", "is not the city of any depot"),
    (f"rain,A0,,{AHEAD},much,", "value", "much", "is not a number"),
    (f"rain,A0,,{AHEAD},nan,", "value", "nan", "is not a number"),
    (f"rain,A0,,{AHEAD},,", "value", "", "is empty"),
    ("rain,A0,,,1,", "date", "", "is empty"),
    (f",A0,,{AHEAD},1,", "signal", "", "is empty"),
    (f"rain,A0,,{AHEAD},1,{TOO_LATE}", "known_from", str(TOO_LATE), "lies after date"),
    (f"rain,A0,Delft,{AHEAD},1,", "city", "Delft", "is given together with a depot_id"),
    (f"rain,,,{AHEAD},1,", "depot_id", "", "is empty; give depot_id or city"),
]


def test_bad_rows_go_to_quarantine_with_their_reasons(fleet, loader):
    header = "signal,depot_id,city,date,value,known_from"
    report = loader(header, f"rain,A0,,{AHEAD},0.5,", *(row for row, *_ in BAD))
    assert counts(report, "signals") == (1, 0, len(BAD))
    for line, (found, bad) in enumerate(zip(quarantined(fleet), BAD, strict=True), 3):
        row, column, value, reason = bad
        assert found[:3] == (line, column, value), row
        assert found[3].startswith(reason), row
    assert len(versions(fleet)) == 1


def test_a_row_of_an_unknown_depot_goes_in_once_the_depot_is_known(
    fleet, loader, tmp_path
):
    loader(HEADER, f"booked,Z9,{AHEAD},4")
    load_one(
        fleet, write(tmp_path / "daily.csv", f"depot_id,date,orders\nZ9,{LAST},1\n")
    )
    assert replay(fleet, FileOptions(), SETTINGS, night_after(LAST)) == ReplayResult(1)
    assert versions(fleet) == [(LAST, 1, 4, False, True)]


def test_a_folder_may_bring_the_depots_with_its_signals(clean_engine, tmp_path):
    """Small files of counts are loaded in groups, but before the signals."""
    for number in range(12):
        write(
            tmp_path / f"a{number:02}.csv",
            f"depot_id,date,orders\nD{number},{LAST},1\n",
        )
    write(tmp_path / "b.csv", f"{HEADER}\nrain,D7,{AHEAD},1\n")
    assert counts(load(clean_engine, tmp_path), "signals") == (1, 0, 0)
    assert counts(load(clean_engine, tmp_path, dry_run=True), "signals") == (0, 1, 0)


def test_a_file_without_a_column_of_places_is_refused(fleet, tmp_path):
    report = load_one(
        fleet, write(tmp_path / "x.csv", f"signal,date,value\nrain,{AHEAD},1\n")
    )
    assert report.state == "refused"
    assert "neither a column 'depot_id' nor 'city'" in report.error


def file_ids(engine):
    with engine.connect() as connection:
        newest, _ = files_store.newest_files(connection, 99)
    return [file.file_id for file in reversed(newest)]


def test_a_file_taken_back_gives_way_to_the_one_that_it_corrected(
    fleet, loader, at_night
):
    dated = f"{HEADER},known_from"
    since = LAST - timedelta(days=5)
    at_night(since)
    loader(dated, f"booked,A0,{AHEAD},5,{since}")
    at_night(LAST - timedelta(days=2))
    loader(dated, f"booked,A0,{AHEAD},50,{since}", f"booked,A1,{AHEAD},7,{since}")
    at_night(LAST)
    outcome = withdraw(fleet, file_ids(fleet)[1:])
    assert (outcome.removed, outcome.restored) == (2, 1)
    panel = read_panel(fleet, LAST)
    assert (known(panel), known(panel, depot=1)) == (5, None)
    # What a past origin knew, it knew.
    panels = PanelsAsKnown(fleet, LAST, SETTINGS.zone)
    past = panels.at(LAST - timedelta(days=1))
    assert (known(past), known(past, depot=1)) == (50, 7)
    assert known(panels.at(LAST)) == 5
    again = loader(
        dated, f"booked,A0,{AHEAD},50,{since}", f"booked,A1,{AHEAD},7,{since}"
    )
    assert counts(again, "signals") == (2, 0, 0)
    assert known(read_panel(fleet, LAST), depot=1) == 7


def test_a_file_whose_values_a_later_one_repeats_is_taken_back_with_it(fleet, loader):
    loader(HEADER, f"booked,A0,{AHEAD},5")
    loader(HEADER, f"booked,A0,{AHEAD},5", f"booked,A1,{AHEAD},5")
    first, second = file_ids(fleet)
    with pytest.raises(BadInputError, match="rows that later files repeat"):
        withdraw(fleet, [first])
    assert withdraw(fleet, [first, second]).removed == 2
    assert read_panel(fleet, LAST).signals is None


def test_a_summary_says_what_is_missing_where_there_were_values(fleet, loader):
    """Rain is lacking for three of seven days; what ended five weeks ago is not expected."""
    ahead = [LAST + timedelta(days=days) for days in (0, 1, 2, 4, 7)]
    loader("signal,city,date,value", *(f"rain,Delft,{day},1" for day in ahead))
    loader(HEADER, f"strike,A0,{START},1", f"strike,A1,{START},1")
    with fleet.connect() as connection:
        rain, strike = summaries(connection, LAST, horizon=7)
        (unexpected, _) = summaries(connection, None, horizon=7)
    missing = LAST + timedelta(days=3)
    assert rain == SignalSummary("rain", 3, missing)
    assert strike == SignalSummary("strike", 0, None)
    assert unexpected.missing == 0
