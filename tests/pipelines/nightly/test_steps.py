"""A night from counts to scored forecasts, on a small fleet and a real database."""

from datetime import UTC, date, datetime, timedelta
from unittest.mock import Mock
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from forecaster.errors import NoDataError, NoModelError, NothingToDoError
from forecaster.inference import infer
from pipelines.demand import counting, panels
from pipelines.forecasting import forecast
from pipelines.nightly.run import NIGHTLY_LOCK, NightlyError, run_nightly
from pipelines.nightly.steps import NightlyContext
from pipelines.schema import (
    forecast_totals,
    forecasts,
    models,
    runs,
)
from pipelines.store import models as model_store
from tests.pipelines.faults.victim import invent_training
from tests.pipelines.make import (
    START,
    UTC_ZONE,
    add_fleet,
    count,
    forecast_from,
    judge,
    midnight_after,
)

DAYS = 90
LAST = START + timedelta(days=DAYS - 1)
AFTER_THE_NIGHT = midnight_after(LAST)


@pytest.fixture
def quick(monkeypatch):
    """Trains a small network for two epochs, enough to run every step."""
    from forecaster.config import ModelConfig, TaskConfig, TrainConfig
    from forecaster.model.two_stage_fit import Recipe
    from pipelines.training import train

    recipe = Recipe(
        TaskConfig(horizon=7, context=28),
        ModelConfig(units=4, head_units=4),
        TrainConfig(epochs=2, batch_size=8, members=1, validation_days=14),
    )
    monkeypatch.setattr(train, "build_recipe", lambda *_, **__: recipe)


@pytest.fixture
def invented(monkeypatch):
    """Random weights instead of a training."""
    invent_training(monkeypatch.setattr)


@pytest.fixture
def fleet(clean_engine):
    with clean_engine.begin() as connection:
        add_fleet(connection, n_depots=3, n_days=DAYS)
    return clean_engine


def assert_totals_fit_the_depots(engine):
    """Asserts that bands of fleet and cities are no wider than the depots' bands summed up."""
    with engine.connect() as connection:
        rows = connection.execute(
            sa.text(
                "select t.p10, t.p50, t.p90, sum(f.p10), sum(f.p90) "
                "from forecast_totals t join depots d on t.city in ('', d.city) "
                "join forecasts f using (depot_id, origin_on, target_on, model_version) "
                "group by t.city, t.target_on, t.p10, t.p50, t.p90"
            )
        ).all()
        cities = connection.scalar(sa.text("select count(distinct city) from depots"))
    assert len(rows) == 7 * (1 + cities)
    assert all(low < point < high for low, point, high, *_ in rows)
    assert all(
        high - low < 1.001 * (most - least) for low, _, high, least, most in rows
    )


def night_of(engine, settings, origin=LAST, now=AFTER_THE_NIGHT):
    return NightlyContext(engine, settings, now, origin)


@pytest.fixture
def histories(monkeypatch):
    """The last day of each read of the history."""
    read, through = panels.read_panel_tables, []

    def read_and_note(connection, last):
        through.append(last)
        return read(connection, last)

    monkeypatch.setattr(panels, "read_panel_tables", read_and_note)
    return through


@pytest.fixture
def forecasts_made(monkeypatch):
    """The model version of each forecast."""
    forecast_by, made = infer.forecast, []

    def forecast_and_note(model, *others, **named):
        made.append(model.version)
        return forecast_by(model, *others, **named)

    monkeypatch.setattr(infer, "forecast", forecast_and_note)
    return made


@pytest.mark.usefixtures("quick")
def test_the_whole_night_and_what_repeats_it(
    fleet, settings, histories, forecasts_made
):
    """One long test, because its training takes most of the time."""
    done = run_nightly(night_of(fleet, settings))

    # Training, canary and forecast share one history; canary and forecast are made once.
    assert histories == [LAST]
    assert forecasts_made[-2:].count(done["steps"]["forecast"]["model"]) == 2
    assert forecasts_made.count(done["steps"]["forecast"]["model"]) == 2
    names = "ingest demand score prune accuracy train promote forecast hours message"
    assert list(done["steps"]) == names.split()

    # The first model is champion; its evaluation fit is kept for hindcasts.
    with fleet.connect() as connection:
        night = sa.select(runs.c.metrics).where(runs.c.step == "nightly")
        told = connection.scalar(night)
        champion = model_store.champion(connection)
        evaluation = model_store.newest_evaluation(connection)
    assert (told["new"], told["depots"]) == (done["steps"]["demand"]["new"], 3)
    assert champion["trained_through"] == LAST
    assert evaluation["trained_through"] == LAST - timedelta(days=14)
    table = champion["scores"]["models"]
    assert set(table) == {"gru", "seasonal_naive", "median4"}
    # The artefact contains its own scores.
    served = forecast.load_recorded(settings.artefacts, champion)
    assert served.backtest == table
    assert champion["scores"]["network_share"] == served.network_share

    # Three depots, seven days, all live.
    assert count(fleet, forecasts, forecasts.c.is_live) == 21

    # The fleet and its city have bands of their own, no wider than the depots' together.
    assert_totals_fit_the_depots(fleet)

    # The ledger has the night and its ten steps, all done.
    assert count(fleet, runs, runs.c.state == "done") == 11
    assert count(fleet, runs, runs.c.parent_id == done["run_id"]) == 10

    # It has the cost of training and forecasting; a CPU reports no device memory.
    cost = done["steps"]["train"]
    assert cost["compilations"] + cost["cache_hits"] > 0
    assert cost["compilations"] == cost["cache_misses"]
    assert 0 < cost["step_seconds"] < cost["first_step_seconds"]
    assert cost["host_memory_peak_bytes"] > 50 * 2**20
    assert cost["device_memory_peak_bytes"] is None
    inference = done["steps"]["forecast"]
    assert inference["inference_seconds"] > 0
    assert inference["inference_host_memory_peak_bytes"] > 50 * 2**20

    # A repeated forecast replaces its rows; a late one leaves the live rows unchanged.
    late = AFTER_THE_NIGHT + timedelta(hours=37)
    for again in (AFTER_THE_NIGHT + timedelta(hours=2), late):
        forecast_from(fleet, settings.artefacts, LAST, again, UTC_ZONE)
        assert count(fleet, forecasts) == 21
        assert count(fleet, forecast_totals) % 7 == 0
        assert count(fleet, forecasts, forecasts.c.is_live) == 21

    # A repeated decision is the same.
    assert judge(fleet, settings.artefacts, champion["version"]).promoted


def test_an_origin_long_after_the_data_is_refused(fleet, settings):
    counting.rebuild(fleet, AFTER_THE_NIGHT)
    far = date(2030, 1, 1)
    with pytest.raises(
        NoDataError, match=rf"origin is {far}.*newest orders are of {LAST}"
    ):
        forecast_from(fleet, settings.artefacts, far, AFTER_THE_NIGHT, UTC_ZONE)


def test_without_a_model_the_way_to_one_is_told(fleet, settings):
    counting.rebuild(fleet, AFTER_THE_NIGHT)
    with pytest.raises(NoModelError, match=r"No champion.*'harbor train'"):
        forecast_from(fleet, settings.artefacts, LAST, AFTER_THE_NIGHT, UTC_ZONE)


def test_two_nights_at_once_are_one(fleet, settings):
    with fleet.connect() as other:
        other.execute(sa.select(sa.func.pg_advisory_lock(NIGHTLY_LOCK)))
        with pytest.raises(NothingToDoError, match="Another nightly run"):
            run_nightly(night_of(fleet, settings))
        # Otherwise the pool would reuse the session with its lock.
        other.execute(sa.select(sa.func.pg_advisory_unlock_all()))
    assert count(fleet, models) == 0


@pytest.mark.usefixtures("invented")
def test_a_night_whose_training_fails_still_forecasts(
    fleet, settings, histories, monkeypatch
):
    from pipelines.training import train

    eve = LAST - timedelta(days=1)
    run_nightly(night_of(fleet, settings, eve, AFTER_THE_NIGHT - timedelta(days=1)))
    whole = train.train
    monkeypatch.setattr(train, "train", Mock(side_effect=MemoryError("too large")))
    with pytest.raises(NightlyError, match="too large"):
        run_nightly(night_of(fleet, settings))
    assert count(fleet, forecasts, forecasts.c.origin_on == LAST) == 21

    # The night is not done: run again, it trains.
    monkeypatch.setattr(train, "train", whole)
    run_nightly(night_of(fleet, settings))
    assert count(fleet, models, models.c.trained_through == LAST) == 1
    # The history is read once per run, and shared with scoring.
    assert histories == [eve, LAST, LAST]


@pytest.mark.parametrize(
    ("hours", "live"), [(0, True), (36, True), (36.01, False), (400, False)]
)
def test_a_forecast_is_live_for_36_hours_after_its_origin_ended(hours, live):
    zone = ZoneInfo("America/Los_Angeles")
    ended = datetime(2024, 3, 10, 0, 0, tzinfo=zone)
    now = ended.astimezone(UTC) + timedelta(hours=hours)
    origin = date(2024, 3, 9)
    assert forecast.is_live(origin, origin, now, zone) is live


def test_a_forecast_of_a_day_that_has_come_in_is_never_live():
    origin = date(2024, 3, 9)
    now = datetime(2024, 3, 10, 4, 30, tzinfo=UTC)
    days = [origin - timedelta(days=1), origin, origin + timedelta(days=1), None]
    live = [forecast.is_live(origin, newest, now, UTC_ZONE) for newest in days]
    assert live == [True, True, False, True]
