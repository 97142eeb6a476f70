"""The invented fleet: what a partner would send, and the same again by its seed."""

import hashlib
import json
from datetime import date, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from forecaster.errors import BadInputError
from pipelines.demo.calendar import (
    black_friday,
    holiday_log_lift,
    pay_day,
    pay_day_log_lift,
)
from pipelines.demo.files import write_files
from pipelines.demo.fleet import invent
from pipelines.demo.manifest import is_written, read_manifest
from pipelines.demo.orders import on_the_clock_of
from pipelines.demo.places import CITIES, share_out
from pipelines.demo.shape import draw_counts

ENDS_ON = date(2026, 4, 10)
SEED, N_DEPOTS, N_DAYS = 7, 7, 420
ZONES = {city.name: ZoneInfo(city.timezone) for city in CITIES}


@pytest.fixture(scope="module")
def fleet():
    return invent(SEED, N_DEPOTS, N_DAYS, ENDS_ON)


@pytest.fixture(scope="module")
def folder(fleet, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fleet with a space")
    write_files(fleet, folder)
    return folder


@pytest.fixture(scope="module")
def sent(folder):
    """Every row of every file of orders, in the order they are loaded."""
    return read_orders(folder)


@pytest.fixture(scope="module")
def counts(sent):
    """Orders per depot and local day, once all files are in: the last row wins."""
    kept = sent.drop_duplicates("order_id", keep="last")
    return kept.groupby(["depot_id", "day"]).size().unstack("day", fill_value=0)


def read_orders(folder):
    cities = pd.read_csv(folder / "depots.csv").set_index("depot_id")["city"]
    tables = []
    for path in sorted(folder.glob("orders_*")):
        is_csv = path.suffix == ".csv"
        table = pd.read_csv(path) if is_csv else pd.read_parquet(path)
        city = cities[table["depot_id"]].unique()
        assert len(city) == 1, f"{path.name} holds orders of {city}"
        table["raw"] = table["ordered_at"].astype(str)
        local = pd.to_datetime(table["ordered_at"], utc=is_csv and "+" in table.raw[0])
        if local.dt.tz is not None:
            table["utc"] = local.dt.tz_convert("UTC")
            local = local.dt.tz_convert(str(ZONES[city[0]])).dt.tz_localize(None)
        tables.append(table.assign(local=local, city=city[0], file=path.name))
    rows = pd.concat(tables, ignore_index=True)
    return rows.assign(day=rows["local"].dt.date)


def hashes(folder):
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
    }


def read_table(folder, name):
    return pd.read_csv(folder / name, dtype=str, keep_default_na=False)


def around(counts, depots, day):
    """A day against the median of the same weekdays three weeks to either side."""
    near = [
        day + timedelta(weeks=weeks) for weeks in range(-3, 4) if weeks
    ]  # fmt: skip
    near = [each for each in near if each in counts.columns]
    return counts.loc[depots, day].sum() / counts.loc[depots, near].sum().median()


def test_the_same_seed_writes_the_same_bytes_and_another_seed_does_not(tmp_path):
    for name, seed in (("first", 3), ("second", 3), ("third", 4)):
        write_files(invent(seed, 4, 70, ENDS_ON), tmp_path / name)
    first, second, third = (
        hashes(tmp_path / name) for name in ("first", "second", "third")
    )
    assert first == second
    assert not {
        name for name in first if name.startswith("orders_") and name in third
        and first[name] == third[name]
    }  # fmt: skip


def test_the_fleet_of_the_demonstration_has_two_million_orders_and_120_vans():
    fleet = invent(0, 24, 548, ENDS_ON)
    assert fleet.n_orders == pytest.approx(2_000_000, rel=0.02)
    assert sum(depot.vans for depot in fleet.depots) == 120
    assert min(depot.vans for depot in fleet.depots) >= 1
    noon = pd.Timestamp(2026, 1, 15, 12)
    offsets = {noon.tz_localize(city.timezone).utcoffset() for city in fleet.cities}
    assert len(offsets) == 3


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_last_week_repeated_is_ten_to_fourteen_percent_off(seed):
    """Neither noise alone, which nothing could learn, nor a week that repeats itself."""
    autumn = date(2026, 11, 19)
    counts_dt = invent(seed, 24, 548, autumn).counts_dt[:, -37:].astype(float)
    actual, week_ago = counts_dt[:, 7:], counts_dt[:, :-7]
    both = (actual > 0) & (week_ago > 0)
    mape = np.mean(np.abs(week_ago - actual)[both] / actual[both])
    assert 0.10 < mape < 0.14


def test_the_manifest_counts_what_was_written(folder, sent, fleet):
    manifest = read_manifest(folder)
    assert manifest.rows == len(sent)
    assert manifest.orders == sent["order_id"].nunique() == fleet.n_orders
    assert set(manifest.sizes) == {path.name for path in folder.iterdir()} - {
        "fleet.json"
    }


def test_files_have_the_columns_of_the_contract(folder):
    assert list(read_table(folder, "depots.csv").columns) == [
        "depot_id", "name", "city", "timezone", "country", "subdivision",
        "vans", "opened_on", "closed_on", "closed_weekdays",
    ]  # fmt: skip
    assert set(read_table(folder, "events.csv").columns) == {
        "kind", "starts_on", "ends_on", "depot_id", "city", "value", "known_from",
    }  # fmt: skip
    for path in folder.glob("orders_*"):
        read = pd.read_csv if path.suffix == ".csv" else pd.read_parquet
        assert list(read(path).columns) == ["order_id", "depot_id", "ordered_at"]


def test_older_months_are_csv_and_later_ones_parquet(sent):
    whole = sent[~sent["file"].str.contains("corrected")]
    is_csv = whole["file"].str.endswith(".csv")
    assert is_csv.any()
    assert (~is_csv).any()
    assert whole.loc[is_csv, "day"].max() < whole.loc[~is_csv, "day"].min()


def test_a_file_holds_one_city_and_month_in_order_of_time(sent):
    whole = sent[~sent["file"].str.contains("corrected")]
    for name, rows in whole.groupby("file"):
        _, city, month = Path(name).stem.split("_")
        assert set(rows["city"].str.lower()) == {city}
        assert set(rows["local"].dt.strftime("%Y-%m")) == {month}
        assert rows["order_id"].is_monotonic_increasing


def test_londons_partner_writes_offsets_and_the_others_write_local_time(sent):
    text = sent[sent["file"].str.endswith(".csv")]
    has_offset = text["raw"].str.contains(r"[+-]\d\d:\d\d$")
    assert set(text.loc[has_offset, "city"]) == {"London"}
    assert set(text.loc[~has_offset, "city"]) == {"Rotterdam", "Helsinki"}
    written = {raw[-6:] for raw in text.loc[has_offset, "raw"]}
    assert written == {"+00:00", "+01:00"}


def test_the_feed_of_one_city_is_silent_for_two_days(sent, fleet):
    calendar = set(pd.date_range(fleet.starts_on, ENDS_ON).date)
    silent = {
        city: sorted(calendar - set(rows["day"])) for city, rows in sent.groupby("city")
    }
    first = fleet.outage.starts_on
    assert silent == {
        "Rotterdam": [first, first + timedelta(days=1)],
        "London": [],
        "Helsinki": [],
    }


def test_a_depot_opens_half_way(folder, counts):
    depots = read_table(folder, "depots.csv")
    late = depots[depots["opened_on"] != ""]
    assert len(late) == 1
    opened_on = date.fromisoformat(late["opened_on"].item())
    assert (ENDS_ON - opened_on).days in (N_DAYS // 2 - 1, N_DAYS // 2)
    days = counts.loc[late["depot_id"].item()]
    assert days[days.index < opened_on].sum() == 0
    assert days[opened_on] > 0
    first_month = days[days.index >= opened_on].iloc[:28].mean()
    assert first_month < 0.8 * days.iloc[-28:].mean(), "it starts small"


def test_a_depot_is_closed_on_sundays(folder, sent):
    depots = read_table(folder, "depots.csv")
    closed = depots.loc[depots["closed_weekdays"] == "sun", "depot_id"].item()
    weekdays = sent.loc[sent["depot_id"] == closed, "local"].dt.isocalendar()["day"]
    assert set(weekdays) == {1, 2, 3, 4, 5, 6}


def test_a_closed_depot_receives_nothing(folder, counts):
    events = read_table(folder, "events.csv")
    closures = events[
        (events["kind"] == "closed") & (events["ends_on"] <= "2026-04-10")
    ]
    assert len(closures) > 0
    for closure in closures.to_dict("records"):
        days = pd.date_range(closure["starts_on"], closure["ends_on"]).date
        assert counts.loc[closure["depot_id"], days].sum() == 0
        assert counts.loc[closure["depot_id"], days[-1] + timedelta(days=1)] > 0


def test_ids_are_unique_but_for_rows_sent_twice(sent):
    whole = sent[~sent["file"].str.contains("corrected")]
    again = whole[whole.duplicated("order_id")]
    assert 0.001 < len(again) / len(whole) < 0.004
    assert whole.duplicated(["order_id", "depot_id", "local", "file"]).sum() == len(
        again
    )


def test_corrections_sort_after_the_file_they_mend_and_move_orders(sent):
    is_correction = sent["file"].str.contains("corrected")
    before = sent[~is_correction].drop_duplicates("order_id").set_index("order_id")
    after = sent[is_correction].set_index("order_id")
    assert after.index.is_unique
    assert after["file"].nunique() == 6
    was = before.loc[after.index]
    assert (was["file"] < after["file"]).all()
    stem = after["file"].str.removesuffix("_corrected.csv")
    assert (was["file"].str.split(".").str[0] == stem).all()
    other_depot = was["depot_id"] != after["depot_id"]
    next_day = after["local"] - was["local"] == pd.Timedelta(days=1)
    assert (other_depot ^ next_day).all()
    assert min(other_depot.sum(), next_day.sum()) > 20


def test_holidays_empty_the_day_where_they_are_kept(fleet, counts):
    london = [depot.depot_id for depot in fleet.depots if depot.city.name == "London"]
    assert around(counts, london, date(2025, 12, 25)) < 0.5
    assert around(counts, london, date(2025, 8, 25)) < 0.85, "Late Summer Bank Holiday"
    helsinki = [each.depot_id for each in fleet.depots if each.city.name == "Helsinki"]
    assert around(counts, helsinki, date(2025, 8, 25)) > 0.85, "a holiday of London's"


def test_the_days_around_a_holiday_and_after_a_pay_day_are_busier():
    rotterdam, london, _ = CITIES
    christmas = [date(2025, 12, day) for day in range(23, 29)]
    np.testing.assert_array_equal(
        np.sign(holiday_log_lift(london, christmas)), [0, 1, -1, -1, 1, 0]
    )
    # Paid on Wednesday the 25th; and the lift of a pay day before the first day counts.
    paid = pay_day_log_lift(rotterdam, [date(2026, 3, day) for day in range(24, 31)])
    np.testing.assert_array_equal(np.sign(paid), [0, 1, 1, 1, 1, 0, 0])
    assert (np.diff(paid[1:5]) < 0).all()
    after = pay_day_log_lift(rotterdam, [date(2026, 3, day) for day in range(26, 31)])
    np.testing.assert_array_equal(after, paid[2:])


def test_black_friday_and_promotions_lift_demand(fleet, counts):
    assert around(counts, counts.index, black_friday(2025)) > 1.3
    lifts = []
    for event in fleet.events:
        if event.kind == "promotion" and event.ends_on <= ENDS_ON:
            depots = [
                each.depot_id for each in fleet.depots if each.city.name == event.city
            ]
            days = pd.date_range(
                max(event.starts_on, fleet.starts_on), event.ends_on
            ).date
            up = [fleet.outage.starts_on <= day <= fleet.outage.ends_on for day in days]
            lifts += [
                around(counts, depots, day)
                for day, down in zip(days, up, strict=True)
                if not down
            ]
    assert 1.08 < np.median(lifts) < 1.25


def test_something_lies_ahead_and_all_of_it_is_known(fleet):
    ahead = [event for event in fleet.events if event.starts_on > ENDS_ON]
    assert {"promotion", "closed"} <= {event.kind for event in ahead}
    assert all(event.starts_on <= ENDS_ON + timedelta(days=14) for event in ahead)
    assert all(event.known_from <= ENDS_ON for event in fleet.events)
    assert all(event.known_from < event.starts_on for event in fleet.events)
    assert not [each for each in fleet.events if each.city and each.depot_id]


def test_weeks_differ_between_depots(counts):
    weekday = np.array([day.isoweekday() for day in counts.columns])
    sunday = counts.loc[:, weekday == 7].mean(axis=1)
    tuesday = counts.loc[:, weekday == 2].mean(axis=1)
    share = (sunday / tuesday)[sunday > 0]
    assert share.max() > 1.3 * share.min()


def test_counts_spread_wider_than_poisson():
    counts_dt = draw_counts(0, np.full((50, 50), 10_000.0))
    assert counts_dt.mean() == pytest.approx(10_000, rel=0.01)
    assert counts_dt.var() > 3 * counts_dt.mean()


@pytest.mark.parametrize(
    ("year", "expected"),
    [
        (2024, date(2024, 11, 29)),
        (2025, date(2025, 11, 28)),
        (2026, date(2026, 11, 27)),
    ],
)
def test_black_friday_follows_the_fourth_thursday(year, expected):
    assert black_friday(year) == expected


@pytest.mark.parametrize(
    ("city", "month", "expected"),
    [
        pytest.param("Rotterdam", 3, date(2026, 3, 25), id="a Wednesday"),
        pytest.param("Rotterdam", 4, date(2026, 4, 24), id="a Saturday, so Friday"),
        pytest.param("London", 5, date(2026, 5, 29), id="the 31st is a Sunday"),
        pytest.param("Helsinki", 2, date(2026, 2, 13), id="the 15th is a Sunday"),
    ],
)
def test_pay_day_is_a_working_day(city, month, expected):
    (paid_by,) = [each for each in CITIES if each.name == city]
    assert pay_day(paid_by, 2026, month) == expected


@pytest.mark.parametrize("city", CITIES, ids=lambda city: city.name)
def test_a_time_that_the_clocks_skip_becomes_the_hour_after(city):
    # At 01:00 UTC on 29 March 2026: midnight, or later, and as much as the winter offset.
    skipped = {"Rotterdam": 2, "London": 1, "Helsinki": 3}[city.name]
    wall = np.array([f"2026-03-29T{skipped:02d}:20:30"], "datetime64[s]")
    (moment,) = on_the_clock_of(city, wall, late=np.array([False]))
    assert str(moment)[:19] == f"2026-03-29 {skipped + 1:02d}:20:30"
    assert str(moment.tz_convert("UTC"))[:19] == "2026-03-29 01:20:30"


def test_200_depots_receive_nothing_in_the_hour_that_the_clocks_skip(tmp_path):
    """Enough depots that the same hour of the days beside it has orders in each city."""
    write_files(invent(0, 200, 3, date(2026, 3, 30)), tmp_path)
    sent = read_orders(tmp_path)
    assert sent["depot_id"].nunique() == 200
    skipped = sent["city"].map({"Rotterdam": 2, "London": 1, "Helsinki": 3})
    rows = sent[sent["local"].dt.hour == skipped].groupby(["city", "day"]).size()
    assert set(rows.index.get_level_values("day")) == {
        date(2026, 3, 28),
        date(2026, 3, 30),
    }
    assert rows.groupby("city").size().tolist() == [2, 2, 2]


def test_the_hour_that_comes_twice_has_orders_of_both_offsets(tmp_path):
    write_files(invent(0, 200, 3, date(2025, 10, 27)), tmp_path)
    sent = read_orders(tmp_path)
    twice = sent["local"].between("2025-10-26 01:00", "2025-10-26 01:59:59")
    london = sent[twice & (sent["city"] == "London")]
    assert set(london["utc"].dt.hour) == {0, 1}


@pytest.mark.parametrize("n_days", [1, 2, 40])
def test_one_depot_is_a_fleet_too(tmp_path, n_days):
    paths = write_files(invent(0, 1, n_days, ENDS_ON), tmp_path)
    sent = read_orders(tmp_path)
    assert set(sent["depot_id"]) == {"RTM-01"}
    assert sent["day"].max() == ENDS_ON
    assert all(len(path.read_bytes().splitlines()) > 1 for path in paths), (
        "a file without rows would be refused"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0, 10), "depots is 0, but must lie between 1 and 200"),
        ((0, 201, 10), "depots is 201"),
        ((0, 1, 0), "days is 0"),
        ((-1, 1, 10), "seed is -1"),
    ],
)
def test_a_fleet_that_cannot_be_invented_is_refused(arguments, message):
    with pytest.raises(BadInputError, match=message):
        invent(*arguments, ENDS_ON)


def test_vans_are_shared_out_by_size():
    # One each, then 7 by size: 1.4, 1.4 and 4.2, where the first 0.4 gets the last one.
    np.testing.assert_array_equal(share_out(10, np.array([1.0, 1.0, 3.0])), [3, 2, 5])
    # 3.5, 2.33 and 1.17.
    np.testing.assert_array_equal(share_out(10, np.array([3.0, 2.0, 1.0])), [5, 3, 2])


def test_progress_reaches_its_end(tmp_path):
    told = []
    write_files(
        invent(0, 3, 70, ENDS_ON), tmp_path, lambda done, of: told.append((done, of))
    )
    assert [done for done, _ in told] == list(range(1, len(told) + 1))
    assert {of for _, of in told} == {len(told)}


class TestAFinishedFleet:
    """What a second demonstration recognises."""

    @pytest.fixture
    def written(self, tmp_path):
        write_files(invent(5, 2, 30, ENDS_ON), tmp_path)
        return tmp_path

    def test_is_recognised(self, written):
        assert is_written(written, 5, 2, 30, ENDS_ON)
        assert is_written(written, 5, 2, 30)

    @pytest.mark.parametrize(
        "asked",
        [(6, 2, 30), (5, 3, 30), (5, 2, 31), (5, 2, 30, ENDS_ON + timedelta(days=1))],
    )
    def test_is_not_another_one(self, written, asked):
        assert not is_written(written, *asked)

    def test_is_not_one_that_was_interrupted(self, written):
        (written / "fleet.json").unlink()
        assert not is_written(written, 5, 2, 30)

    def test_is_not_one_with_a_file_cut_short_or_gone(self, written):
        path = next(written.glob("orders_*"))
        path.write_bytes(path.read_bytes()[:-1])
        assert not is_written(written, 5, 2, 30)
        path.unlink()
        assert not is_written(written, 5, 2, 30)

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"ends_on": 3}', "\x00"])
    def test_is_not_one_whose_manifest_is_no_manifest(self, written, text):
        (written / "fleet.json").write_text(text)
        assert not is_written(written, 5, 2, 30)

    def test_is_not_one_of_another_format(self, written):
        path = written / "fleet.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 0}))
        assert not is_written(written, 5, 2, 30)

    def test_gives_way_to_the_next_one_and_leaves_strangers_alone(self, written):
        stranger = written / "orders_of_mine.csv"
        stranger.write_text("kept\n")
        paths = write_files(invent(5, 2, 30, date(2025, 12, 31)), written)
        left = {path.name for path in written.iterdir()}
        assert left == {path.name for path in paths} | {"fleet.json", stranger.name}
