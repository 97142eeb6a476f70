"""`from forecaster import load, forecast`: a notebook forecasts what the command forecasts."""

import json
import re
from dataclasses import replace
from datetime import timedelta
from functools import partial

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

import forecaster
from forecaster import forecast, load
from forecaster.data.calendar_effects import CalendarEffects
from forecaster.errors import ArtefactError, BadInputError, NoDataError
from forecaster.inference import artefact
from pipelines.demand import counting
from pipelines.demand.panels import read_panel
from tests.contract.test_imports import JAX
from tests.make import make_artefact, make_demand, make_panel
from tests.pipelines import in_process
from tests.pipelines.make import START, add_event, add_fleet, midnight_after, save_model
from tests.processes import run_python

DAYS = 117
LAST = START + timedelta(days=DAYS - 1)  # the day before King's Day 2024
NUMBERS = ["p10", "p50", "p90", "point"]


@pytest.fixture
def model(tmp_path):
    """The file of an artefact that fits the panels of `make_panel`."""
    return artefact.save(make_artefact(make_panel()), tmp_path)


def orders_of(n_days=120):
    return make_demand(n_days=n_days).rename(columns={"service_on": "date"})


def with_holiday_effect(made, panel):
    """The artefact, for which King's Day doubles the orders."""
    kinds = ("holiday: King's Day",)
    n_columns = len(made.effects.calendar.fleet_f)
    fleet_f = np.zeros(n_columns + 1, np.float32)
    fleet_f[-1] = np.log(2)
    of_depots = np.tile(fleet_f, (panel.n_depots, 1))
    nothing = np.zeros((n_columns + 1, n_columns + 1), np.float32)
    none = np.zeros((0, n_columns + 1), np.float32)
    calendar = CalendarEffects(
        kinds, fleet_f, (), none, panel.depot_ids, of_depots, nothing
    )
    return replace(made, effects=replace(made.effects, calendar=calendar))


def test_it_is_the_forecast_of_the_command(clean_engine, database_url, tmp_path):
    """With a public holiday, an event that closes, a gap, and a weekday without work."""
    with clean_engine.begin() as connection:
        add_fleet(connection, n_depots=3, n_days=DAYS)
        connection.execute(sa.text("delete from daily_counts where depot_id = 'A1'"
                                   " and service_on = '2024-03-05'"))  # fmt: skip
        connection.execute(
            sa.text("update depots set closed_weekdays = '{7}' where depot_id = 'A2'")
        )
        add_event(connection, "closed", LAST + timedelta(days=4), depot_id="A0")
    counting.rebuild(clean_engine, midnight_after(LAST))
    panel = read_panel(clean_engine, LAST)
    made = with_holiday_effect(make_artefact(panel), panel)
    path = save_model(clean_engine, made, tmp_path / "artefacts", role="champion")

    places = {"HARBOR_DATABASE_URL": database_url, "HARBOR_HOME": str(tmp_path)}
    command = partial(in_process.harbor, **places)
    expected = pd.DataFrame(json.loads(command("forecast", "--json").stdout))

    with clean_engine.connect() as connection:
        read = partial(pd.read_sql, con=connection)
        orders = read(
            sa.text("select depot_id, service_on as date, orders from daily_demand")
        )
        events = read(sa.text("select * from events"))
        depots = read(
            sa.text("select depot_id, city, country, subdivision from depots")
        )
    depots["closed_weekdays"] = [None, None, "sun"]
    found = forecast(load(str(path)), orders, events, depots=depots)
    assert found["depot_id"].tolist() == expected["depot_id"].tolist()
    assert found["target_on"].astype(str).tolist() == expected["target_on"].tolist()
    np.testing.assert_allclose(found[NUMBERS], expected[NUMBERS], rtol=1e-6)
    closed = found[found["basis"] == "closed"]
    assert closed[["depot_id", "target_on"]].astype(str).values.tolist() == [
        ["A0", "2024-04-30"], ["A2", "2024-04-28"],
    ]  # fmt: skip
    # Without depots no holiday is known.
    kings_day = found["target_on"] == "2024-04-27"
    plain = forecast(load(path), orders, events)
    ratio = (found["p50"] / plain["p50"])[kings_day]
    assert ratio.between(1.7, 2.1).all()


def test_it_needs_no_database_and_no_jax(model):
    absent = {*JAX, "sqlalchemy", "psycopg", "streamlit", "pipelines", "dashboard"}
    code = f"""
import sys
import forecaster
assert "pandas" not in sys.modules
from forecaster import load, forecast
import pandas as pd
days = pd.date_range("2024-01-01", periods=60)
orders = pd.DataFrame({{"depot_id": "D0", "date": days, "orders": 50 + days.dayofweek}})
print(len(forecast(load({str(model)!r}), orders)))
"""
    assert run_python(code, absent).stdout.strip() == "7"


def test_a_missing_row_is_a_day_that_was_not_observed(model):
    orders = orders_of()
    unknown = orders["date"].astype(str).eq("2024-03-03")
    left_out = forecast(load(model), orders[~unknown])
    empty = forecast(load(model), orders.assign(orders=orders["orders"].mask(unknown)))
    pd.testing.assert_frame_equal(left_out, empty)
    assert left_out["basis"].eq("model").all()


def test_days_after_the_last_count_are_no_origin(model):
    orders = orders_of()
    later = pd.DataFrame(
        {"depot_id": ["D0"], "date": [orders["date"].max() + timedelta(days=1)],
         "orders": [np.nan]}
    )  # fmt: skip
    expected = forecast(load(model), orders)
    pd.testing.assert_frame_equal(
        forecast(load(model), pd.concat([orders, later])), expected
    )


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        (
            lambda orders: orders.rename(columns={"orders": "qty"}), BadInputError,
            "orders has no column orders (found: depot_id, date, qty). Rename one.",
        ),
        (
            lambda orders: pd.concat([orders, orders.head(2)]), BadInputError,
            "orders has D0 on 2024-01-01 twice, and 2 such rows in all. Add them up",
        ),
        (
            lambda orders: orders.assign(orders=np.nan), NoDataError,
            "orders has no observed day",
        ),
    ],
)  # fmt: skip
def test_orders_that_cannot_be_used_are_refused(model, changed, error, message):
    with pytest.raises(error, match=re.escape(message)):
        forecast(load(model), changed(orders_of()))


def test_a_weekday_that_is_none_is_refused(model):
    depots = pd.DataFrame({"depot_id": ["D0"], "closed_weekdays": ["sat,holiday"]})
    with pytest.raises(
        BadInputError, match="closed_weekdays has hol, which is no weekday"
    ):
        forecast(load(model), orders_of(), depots=depots)


def test_an_unknown_country_is_told_and_has_no_holidays(model):
    depots = pd.DataFrame({"depot_id": ["D0"], "country": ["XX"]})
    with pytest.warns(UserWarning, match="public holidays of XX are not known"):
        found = forecast(load(model), orders_of(), depots=depots)
    assert len(found) == 4 * 7


def test_a_file_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(ArtefactError):
        load(tmp_path / "none.npz")


def test_the_package_has_nothing_else_of_that_kind():
    with pytest.raises(AttributeError, match="no attribute 'train'"):
        forecaster.train  # noqa: B018


@pytest.mark.parametrize("weekdays", ["sat,sun", [6, 7]])
def test_closed_weekdays_of_the_command_are_closed(model, weekdays):
    orders = orders_of()
    ids = sorted(orders["depot_id"].unique())
    depots = pd.DataFrame({"depot_id": ids, "closed_weekdays": [weekdays] * len(ids)})
    made = forecast(load(model), orders, depots=depots)
    closed = made.loc[made["basis"] == "closed", "target_on"]
    assert set(closed.dt.day_name()) == {"Saturday", "Sunday"}


@pytest.mark.parametrize("column", ["depot_id", "date"])
def test_a_row_without_depot_or_date_is_refused(model, column):
    orders = orders_of().astype({column: object})
    orders.loc[orders.index[3], column] = None
    with pytest.raises(BadInputError, match="lacks a depot_id or a date in 1 of "):
        forecast(load(model), orders)


def test_no_events_are_none(model):
    events = pd.DataFrame({"kind": [], "starts_on": [], "ends_on": []})
    made = forecast(load(model), orders_of(), events)
    pd.testing.assert_frame_equal(made, forecast(load(model), orders_of()))
