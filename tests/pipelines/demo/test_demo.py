"""The invented fleet: what its partners send, and that it goes in like anyone's files."""

from datetime import UTC, date, datetime, timedelta
from functools import partial
from unittest import mock

import numpy as np
import pandas as pd
import pytest

from pipelines.demand import counting
from pipelines.demo import fleet as invented
from pipelines.demo import nights
from pipelines.demo.depots import CITIES
from pipelines.demo.files import write_files
from pipelines.demo.fleet import BLACK_FRIDAY, invent, running_day
from pipelines.demo.stages import DemoContext, load_files
from pipelines.ingest.load import FileOptions, ingest
from pipelines.settings import Settings

ENDS_ON = date(2026, 4, 10)
ZONES = {city.name: city.timezone for city in CITIES}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("invented files") / "fleet"
    write_files(invent(7, 7, 150, ENDS_ON), folder)
    return folder


def read_orders(folder):
    """Every row of the files of orders, in the order in which they are loaded."""
    cities = pd.read_csv(folder / "depots.csv").set_index("depot_id")["city"]
    tables = []
    for path in sorted(folder.glob("orders_*")):
        is_csv = path.suffix == ".csv"
        table = pd.read_csv(path) if is_csv else pd.read_parquet(path)
        city = cities[table["depot_id"].iat[0]]
        local = pd.to_datetime(table["ordered_at"], utc=is_csv and city == "London")
        if local.dt.tz is not None:
            local = local.dt.tz_convert(ZONES[city]).dt.tz_localize(None)
        tables.append(table.assign(local=local, city=city, file=path.name))
    rows = pd.concat(tables, ignore_index=True)
    return rows.assign(day=rows["local"].dt.date)


def test_the_same_seed_writes_the_same_files_and_another_seed_does_not(tmp_path):
    contents = []
    for number, seed in enumerate((3, 3, 4)):
        folder = tmp_path / str(number)
        write_files(invent(seed, 4, 70, ENDS_ON), folder)
        contents.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert contents[0] == contents[1]
    assert contents[0]["depots.csv"] != contents[2]["depots.csv"]


def test_the_running_day_is_that_of_a_week_before_with_its_own_events_and_closed_depots():
    before = invent(0, 24, 200, date(2026, 11, 26))  # Black Friday follows
    lift = running_day(before).sum() / before.counts_dt[:, -7].sum()
    assert lift == pytest.approx(np.exp(BLACK_FRIDAY[0]), rel=0.1)
    saturday = invent(0, 24, 200, date(2026, 10, 10))
    no_sunday = (saturday.depots["closed_weekdays"] == "sun").to_numpy()
    assert ((running_day(saturday) == 0) == no_sunday).all()
    assert no_sunday.any()


@pytest.mark.parametrize("seed", [0, 1])
def test_two_million_orders_120_vans_and_last_week_repeated_is_12_percent_off(seed):
    """Neither noise alone, which nothing could learn, nor a week that repeats itself."""
    fleet = invent(seed, 24, 548, date(2026, 11, 19))
    assert fleet.counts_dt.sum() == pytest.approx(2_000_000, rel=0.02)
    assert fleet.depots["vans"].sum() == 120
    assert fleet.depots["vans"].min() >= 1
    actual, week_ago = fleet.counts_dt[:, -30:], fleet.counts_dt[:, -37:-7]
    compared = (actual > 0) & (week_ago > 0)
    errors = np.abs(week_ago - actual)[compared] / actual[compared]
    assert 0.10 < errors.mean() < 0.14


def test_partners_write_in_their_own_ways_and_correct_themselves(folder):
    sent = read_orders(folder)
    has_offset = sent["ordered_at"].astype(str).str.contains(r"[+-]\d\d:\d\d$")
    assert set(sent.loc[has_offset, "city"]) == {"London"}
    is_correction = sent["file"].str.contains("corrected")
    whole = sent[~is_correction]
    repeated = whole.duplicated("order_id")
    assert 0.001 < repeated.mean() < 0.004
    assert whole.loc[whole["file"].str.endswith("csv"), "day"].max() < (
        whole.loc[whole["file"].str.endswith("parquet"), "day"].min()
    )
    before = whole[~repeated].set_index("order_id")
    corrected = sent[is_correction].set_index("order_id")
    before = before.loc[corrected.index]
    assert corrected["file"].nunique() == 6
    assert (before["file"] < corrected["file"]).all()
    assert (before["depot_id"] != corrected["depot_id"]).all()
    assert (before["local"] == corrected["local"]).all()


def test_the_last_nights_have_files_of_their_own_one_late_and_one_corrected(tmp_path):
    fleet = invent(7, 7, 70, ENDS_ON)
    folder = tmp_path / "fleet"
    write_files(fleet, folder, n_nights=10)
    names = sorted(path.name for path in (folder / "nights").iterdir())
    assert names == [str(day.date()) for day in fleet.days[-10:]]
    assert read_orders(folder)["day"].max() == fleet.days[-11].date()
    whole = list(folder.glob("nights/*/*.parquet"))
    in_nights = sum(len(pd.read_parquet(path)) for path in whole)
    assert in_nights == fleet.counts_dt[:, -10:].sum()
    late = [path.name for path in whole if path.parent.name not in path.name]
    assert late == [f"orders_london_{ENDS_ON - timedelta(4)}.parquet"]
    [corrected] = folder.glob("nights/*/*corrected.csv")
    [wrong] = folder.glob(f"nights/{ENDS_ON - timedelta(7)}/orders_rotterdam*")
    before = pd.read_parquet(wrong).set_index("order_id")
    after = pd.read_csv(corrected).set_index("order_id")
    assert (before.loc[after.index, "depot_id"] != after["depot_id"]).all()


def test_one_depot_is_a_fleet_too(tmp_path):
    write_files(invent(0, 1, 70, ENDS_ON), tmp_path / "fleet")
    assert set(read_orders(tmp_path / "fleet")["depot_id"]) == {"RTM-01"}


def test_every_order_goes_in_and_is_counted_on_its_local_day(
    clean_engine, tmp_path, monkeypatch
):
    """Over both changes of the clocks, with repeats and corrections, and twice."""
    monkeypatch.setattr(invented, "ORDERS_PER_DEPOT_DAY", 40)
    write_files(invent(1, 4, 190, date(2026, 4, 5)), tmp_path / "fleet")
    load = partial(ingest, clean_engine, [str(tmp_path / "fleet")])
    first, second = (load(FileOptions(force=True), Settings()) for _ in range(2))
    assert {file.state for file in first.files} == {"loaded"}
    assert sum(file.counts.rejected for file in first.files) == 0
    assert second.is_nothing_new

    counting.rebuild(clean_engine, datetime(2026, 4, 7, 12, tzinfo=UTC))
    with clean_engine.connect() as connection:
        counted = pd.read_sql(
            "select depot_id, service_on, orders from demand_versions "
            "where superseded_at is null and orders > 0",
            connection,
            index_col=["depot_id", "service_on"],
        )
    orders = read_orders(tmp_path / "fleet").drop_duplicates("order_id", keep="last")
    expected = orders.groupby(["depot_id", "day"]).size()
    assert counted["orders"].to_dict() == expected.to_dict()


@pytest.mark.parametrize("was_begun", [False, True])
def test_one_night_trains_unless_it_was_interrupted(monkeypatch, was_begun):
    """A night that has ended in its training twice is refused, and the demo goes on."""
    demo = mock.MagicMock(now=datetime.now(UTC))
    demo.morning_after.return_value = demo.now
    steps = []
    monkeypatch.setattr(nights, "run_nightly", lambda _, own: steps.append({*own}))
    monkeypatch.setattr(nights, "_has_run", lambda *_: was_begun)
    monkeypatch.setattr(nights, "_plan", mock.Mock())
    monkeypatch.setattr(nights, "_hire", mock.Mock())
    for days_ago in range(10):
        nights._run_night(demo, ENDS_ON, days_ago, lambda _: lambda *_: None)
    trained = [{"train", "promote"} <= each for each in steps]
    assert sum(trained) == (not was_begun)
    assert all(
        {"forecast", "score"} <= each and "publish" not in each for each in steps
    )


def test_the_bar_of_the_nights_moves_while_one_trains():
    reached = []
    report = nights._within(lambda done, of: reached.append((done, of)), 6, 10)
    for fit in ("evaluation", "production"):
        for epoch in (25, 50):
            report(fit)(epoch, 50)
    assert reached == [(6.25, 10), (6.5, 10), (6.75, 10), (7.0, 10)]


def test_a_second_demo_leaves_the_days_that_the_nights_of_the_first_have_counted(
    clean_engine, tmp_path
):
    settings = Settings(home=tmp_path)
    now = datetime.now(UTC)
    context = DemoContext(clean_engine, settings, now, seed=1, n_depots=4, n_days=70)
    last = context.yesterday
    write_files(invent(1, 4, 70, last), context.folder, n_nights=context.n_nights)
    load_files(context, lambda *_: None)
    assert counting.default_origin(clean_engine) < last
    nights = sorted(str(path) for path in (context.folder / "nights").rglob("*.*"))
    ingest(clean_engine, nights, FileOptions(force=True), settings, is_invented=True)
    counting.rebuild(clean_engine, now)
    for _ in range(2):
        newest = counting.default_origin(clean_engine)
        assert newest >= last
        load_files(context, lambda *_: None)
