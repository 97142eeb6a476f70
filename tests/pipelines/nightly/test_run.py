"""Nights run one at a time, once per origin and data; finished steps are not repeated."""

from datetime import UTC, datetime, timedelta
from unittest.mock import Mock

import pytest
import sqlalchemy as sa
import structlog

from forecaster.errors import NoModelError, NothingToDoError
from pipelines import pruning
from pipelines.cli.logs import configure_logs
from pipelines.demand import counting, feed_freshness
from pipelines.forecasting import forecast
from pipelines.monitoring.notifications import due_notification
from pipelines.nightly.run import NightlyError, run_nightly
from pipelines.nightly.steps import NightlyContext
from pipelines.schema import daily_counts, run_lines, runs
from pipelines.settings import Settings
from pipelines.store import models as model_store
from pipelines.store import monitoring, publications
from pipelines.training import canary, promotion
from pipelines.training import train as train_module
from pipelines.training.canary import CanaryResult
from tests.pipelines.make import (
    DAYS,
    LAST,
    NOW,
    add_counts,
    add_depot,
    add_fleet,
    add_orders,
    night_finding,
    query,
    record_model,
    scalar,
)


@pytest.fixture
def fleet(clean_engine):
    with clean_engine.begin() as connection:
        add_fleet(connection, n_depots=2, n_days=DAYS)
    return clean_engine


@pytest.fixture
def light(monkeypatch):
    """Replaces training and forecasting by stubs that record their calls and the late depots."""
    calls = []

    def train(run, _settings, through, *_):
        calls.append("train")
        version = f"v{len(calls)}"
        made = {"trained_through": through, "run_id": run.run_id}
        with run.engine.begin() as connection:
            record_model(connection, version, "challenger", **made)
        run.metrics["model"] = version

    monkeypatch.setattr(train_module, "train", train)
    # What a stub has trained has no file.
    monkeypatch.setattr(forecast, "load_if_usable", lambda _, model: model is not None)
    passed = CanaryResult("v", None, None, ())
    monkeypatch.setattr(canary, "run_canary", lambda *_, **__: passed)

    def forecast_from(run, _settings, origin, *_):
        calls.append("forecast")
        with run.engine.connect() as connection:
            late = feed_freshness.read_lateness(connection, origin)
        forecast.record_late_feeds(late, run)

    monkeypatch.setattr(forecast, "forecast_from", forecast_from)
    return calls


@pytest.fixture
def night(fleet, tmp_path):
    settings = Settings(home=tmp_path, settle_seconds=0)
    return lambda origin=LAST: NightlyContext(fleet, settings, NOW, origin)


def states(engine):
    with engine.connect() as connection:
        query = sa.select(runs.c.step, runs.c.state).order_by(runs.c.run_id)
        return [tuple(row) for row in connection.execute(query)]


def last_night(engine, night):
    """What doctor says of the last night."""
    return night_finding(engine, "last night", night().settings)


def set_clock_back(engine, ahead):
    """The runs so far were recorded by a clock that was ahead."""
    times = {name: runs.c[name] + ahead for name in ("started_at", "finished_at")}
    query(engine, sa.update(runs).values(**times))


@pytest.mark.parametrize("origin", [LAST, None], ids=["given", "the data's last"])
def test_a_second_night_does_nothing_until_something_comes(fleet, night, light, origin):
    first = run_nightly(night(origin))
    assert light == ["train", "forecast"]
    message = (
        rf"night of {LAST} is done \(run {first['run_id']}\), and nothing has come"
    )
    with pytest.raises(NothingToDoError, match=message):
        run_nightly(night(origin))
    assert light == ["train", "forecast"]
    assert ("nightly", "skipped") in states(fleet)

    file = night().settings.inbox / "late.csv"
    file.write_text(f"depot_id,date,orders\nA0,{LAST},7\n")
    run_nightly(night(origin))
    assert light == ["train", "forecast"] * 2


@pytest.mark.usefixtures("light")
def test_a_night_without_news_says_which_of_its_files_were_refused(fleet, night):
    """Otherwise a day with only an unreadable file would look like a day without files."""
    settings = night().settings
    run_nightly(night())
    (settings.inbox / "today.csv").write_text("Filiale;Anzahl\nA0;7\n")
    with pytest.raises(NothingToDoError, match=r"refused: 1\..* nothing else has come"):
        run_nightly(night())
    assert not last_night(fleet, night).ok
    assert "1 file of the inbox was refused" in last_night(fleet, night).message

    (settings.inbox / "today.csv").unlink()
    with pytest.raises(NothingToDoError, match="nothing has come in since; changed"):
        run_nightly(night())
    assert last_night(fleet, night).ok


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("late.csv", f"depot_id,date,orders\nA0,{LAST},7\n", id="counts"),
        pytest.param(
            "events.csv", f"kind,starts_on,ends_on\ngame,{LAST},{LAST}\n", id="events"
        ),
    ],
)
def test_what_comes_after_the_clock_was_set_back_is_news(
    fleet, night, light, name, text
):
    run_nightly(night())
    set_clock_back(fleet, timedelta(hours=1))
    with pytest.raises(NothingToDoError, match="nothing has come in"):
        run_nightly(night())
    (night().settings.inbox / name).write_text(text)
    run_nightly(night())
    # It trains again, too: the first training has not seen the new data.
    assert light == ["train", "forecast"] * 2


def test_a_night_that_failed_after_the_clock_was_set_back_is_tried_again(
    fleet, night, light, monkeypatch
):
    """Its file is loaded already, with an earlier time than the night on the fast clock."""
    run_nightly(night())
    set_clock_back(fleet, timedelta(days=1))
    file = night().settings.inbox / "late.csv"
    file.write_text(f"depot_id,date,orders\nA0,{LAST},7\n")
    with monkeypatch.context() as patch:
        patch.setattr(forecast, "forecast_from", Mock(side_effect=MemoryError))
        with pytest.raises(NightlyError):
            run_nightly(night())
    run_nightly(night())
    assert light == ["train", "forecast", "train", "forecast"]
    with pytest.raises(NothingToDoError, match="nothing has come in"):
        run_nightly(night())


def test_a_night_runs_again_while_the_forecast_of_a_clock_that_was_ahead_is_shown(
    fleet, night, light
):
    run_nightly(night())
    with fleet.begin() as connection:
        later, tomorrow = (
            LAST + timedelta(days=1),
            datetime.now(UTC) + timedelta(days=1),
        )
        publications.publish(
            connection, later, "v1", live=True, now=tomorrow, run_id=None
        )
    run_nightly(night())
    assert light == ["train", "forecast", "forecast"]


def test_a_challenger_that_a_clock_ahead_has_left_does_not_take_the_judge_from_the_night(
    fleet, night, light
):
    with fleet.begin() as connection:
        tomorrow = LAST + timedelta(days=1)
        record_model(connection, "ahead", "challenger", trained_through=tomorrow)
    run_nightly(night())
    with fleet.connect() as connection:
        assert model_store.champion(connection)["version"] == "v1"


def test_orders_of_the_running_day_are_no_news(fleet, night, light):
    """Otherwise an hourly feed would restart the whole night each time."""
    run_nightly(night())
    today = LAST + timedelta(days=1)
    rows = "".join(f"{n},A0,{today}T0{n}:10:00\n" for n in range(4))
    path = night().settings.inbox / "today.csv"
    path.write_text(f"order_id,depot_id,ordered_at\n{rows}")
    with pytest.raises(NothingToDoError, match="nothing has come in"):
        run_nightly(night())
    assert light.count("forecast") == 1
    assert scalar(fleet, "select count(*) from orders") == 4


@pytest.mark.parametrize(
    ("is_corrected", "trainings"), [(False, 1), (True, 2)], ids=["same data", "newer"]
)
def test_a_night_that_broke_off_after_training_trains_again_only_on_newer_data(
    fleet, night, light, monkeypatch, is_corrected, trainings
):
    with monkeypatch.context() as broken:
        power_cut = Mock(side_effect=KeyboardInterrupt)
        broken.setattr(promotion, "promote_if_better", power_cut)
        with pytest.raises(KeyboardInterrupt):
            run_nightly(night())
    assert light == ["train"]
    if is_corrected:
        query(fleet, sa.update(daily_counts).values(orders=5))
    done = run_nightly(night())
    assert light == ["train"] * trainings + ["forecast"]
    newest = f"v{trainings}"
    assert done["steps"]["train"]["model"] == newest
    with fleet.connect() as connection:
        assert model_store.champion(connection)["version"] == newest


@pytest.fixture
def logged():
    """Configures logging, so that log lines of the steps are stored in the ledger."""
    configure_logs()
    yield
    structlog.reset_defaults()


@pytest.mark.usefixtures("light", "logged")
def test_of_two_failed_steps_the_night_leads_with_the_one_that_costs_the_forecast(
    fleet, night, monkeypatch
):
    no_room = Mock(side_effect=RuntimeError("a folder that nobody may touch"))
    no_model = Mock(
        side_effect=NoModelError("No champion has been promoted. Train one.")
    )
    monkeypatch.setattr(pruning, "prune_artefacts", no_room)
    monkeypatch.setattr(forecast, "forecast_from", no_model)
    with pytest.raises(NightlyError) as raised:
        run_nightly(night())
    assert isinstance(raised.value.__cause__, RuntimeError)

    with fleet.connect() as connection:
        failed = monitoring.newest_night(connection, "failed")
    notification = due_notification(None, failed, last_was_failure=False)
    headline, rest = notification.message.split("goes on from there.")
    assert "There is no new forecast. No champion has been promoted." in headline
    assert "step 'forecast'" in headline
    assert "prune" not in headline
    assert "The step 'prune' failed, too: RuntimeError: a folder that nobody" in rest

    # The traceback of an unexpected error is stored for 'harbor runs show'.
    [(step, fields)] = query(
        fleet,
        sa.select(runs.c.step, run_lines.c.fields)
        .join(runs, runs.c.run_id == run_lines.c.run_id)
        .where(run_lines.c.event == "traceback"),
    )
    assert step == "prune"
    traceback = "".join(fields["lines"])
    assert "in prune\n" in traceback
    assert traceback.endswith("RuntimeError: a folder that nobody may touch\n")


@pytest.mark.parametrize(
    ("missing", "late"),
    [
        pytest.param([], {}, id="all came"),
        pytest.param(["A0"], {"Delft": 1}, id="one did not"),
        pytest.param(["A0", "A1", "G0"], {"Delft": 2, "Ghent": 1}, id="none came"),
    ],
)
def test_a_late_feed_is_told_by_city(fleet, missing, late):
    with fleet.begin() as connection:
        add_depot(connection, "G0", city="Ghent")
        add_depot(connection, "never reported")
        add_counts(connection, ["G0"], [LAST - timedelta(days=1), LAST], 3)
        connection.execute(
            sa.delete(daily_counts).where(
                daily_counts.c.depot_id.in_(missing), daily_counts.c.service_on == LAST
            )
        )
    counting.rebuild(fleet, NOW)
    with fleet.connect() as connection:
        lateness = feed_freshness.read_lateness(connection, LAST)
    assert lateness.late_depots == late
    assert (lateness.expected, lateness.n_late) == (3, len(missing))
    for city, number in late.items():
        assert f"{city} ({number})" in lateness.sentence()


@pytest.mark.parametrize("table", ["order_counts", "daily_counts"])
def test_orders_that_have_come_in_part_are_not_said_to_be_missing(fleet, table):
    of_day = daily_counts.c.service_on == LAST
    query(fleet, sa.delete(daily_counts).where(of_day))
    counting.rebuild(fleet, NOW)
    columns = "depot_id, service_on, orders, file_id"
    values = f"'A0', '{LAST}', 3, 1"
    if table == "order_counts":
        columns += ", by_hour, last_file_id, last_time"
        values += ", '{}', 1, '04:00'"
    with fleet.begin() as connection:
        connection.execute(
            sa.text(f"insert into {table} ({columns}) values ({values})")
        )
        both = feed_freshness.read_lateness(connection, LAST)
        connection.execute(
            sa.text("update depots set closed_on = :day where depot_id = 'A1'"),
            {"day": LAST},
        )
        alone = feed_freshness.read_lateness(connection, LAST)
    assert "have not come, or only in part (1), from 2 of 2" in both.sentence()
    assert "have come only in part from 1 of 2 depots: Delft (1)" in alone.sentence()


def test_the_night_of_a_late_feed_forecasts_and_says_so(fleet, night, light):
    day = LAST + timedelta(days=1)
    done = run_nightly(night(day))
    assert light == ["train", "forecast"]
    assert done["steps"]["forecast"]["late_depots"] == 2
    counts = scalar(fleet, sa.select(runs.c.metrics).where(runs.c.step == "nightly"))
    assert counts["late_depots"] == 2

    # A night that finds nothing to do hides nothing of the one before.
    with pytest.raises(NothingToDoError):
        run_nightly(night(day))
    assert not last_night(fleet, night).ok
    assert "without orders of 2 depots" in last_night(fleet, night).message

    file = night().settings.inbox / "late.csv"
    file.write_text(f"depot_id,date,orders\nA0,{day},7\nA1,{day},9\n")
    late = night(day)
    late.now += timedelta(days=1)
    done = run_nightly(late)
    assert done["steps"]["ingest"]["described"] == 0, "counts are news once counted"
    assert "late_depots" not in done["steps"]["forecast"]


@pytest.mark.usefixtures("light")
def test_a_file_that_the_night_refuses_is_told_by_the_night_and_by_doctor(fleet, night):
    inbox = night().settings.inbox
    inbox.mkdir()
    (inbox / "broken.csv").write_text("depot_id,date,orders\nA0,never,7\n")
    done = run_nightly(night())
    assert done["steps"]["ingest"]["refused"] == 1
    assert not last_night(fleet, night).ok
    assert "1 file of the inbox was refused" in last_night(fleet, night).message
    assert f"harbor runs show {done['run_id']}" in last_night(fleet, night).message


@pytest.mark.usefixtures("light")
def test_the_night_removes_what_is_old_and_says_how_much(fleet, night):
    with fleet.begin() as connection:
        old, new = (f"{LAST - timedelta(days=ago)}T12:00:00" for ago in (25, 5))
        add_orders(connection, "A0", old, new)
    context = night()
    keep = {"keep_orders_days": 20, "keep_forecasts_days": 365}
    context.settings = context.settings.model_copy(update=keep)
    gone = {"artefacts": 0, "forecasts_deleted": 0, "dropped": 1}
    assert run_nightly(context)["steps"]["prune"] == gone
    with fleet.connect() as connection:
        assert connection.scalar(sa.text("select count(*) from orders")) == 1
        counted = connection.scalar(sa.text("select count(*) from demand_versions"))
    assert counted == 2 * DAYS
