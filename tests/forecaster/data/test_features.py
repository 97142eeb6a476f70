"""Each feature has the meaning of its name, and uses no later actuals."""

from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest

from forecaster.data.calendar_features import column_names
from forecaster.data.features import build_features, choose_kinds
from forecaster.data.lags import LOOKBACK_DAYS
from forecaster.data.residual_features import RESPONSE_COLUMNS
from forecaster.data.yearly_features import DEVIATION_COLUMNS, RESIDUAL_COLUMNS
from forecaster.inference import predict
from tests.make import (
    START,
    make_artefact,
    make_demand,
    make_events,
    make_holidays,
    make_panel,
)

YEARLY_COLUMNS = (*DEVIATION_COLUMNS, *RESIDUAL_COLUMNS)
BY_HOLIDAY = YEARLY_COLUMNS.index("residual, a year ago by holiday")
WEEK_AFTER = YEARLY_COLUMNS.index("residual, 357 days ago")
WEEK_BEFORE = YEARLY_COLUMNS.index("residual, 371 days ago")
EXCESS = YEARLY_COLUMNS.index(
    "excess of the residual over two spreads, a year ago by holiday"
)
BOTH_YEARS = YEARLY_COLUMNS.index(
    "the smaller residual of one and two years ago, where their signs agree"
)
DEVIATION_BY_HOLIDAY = YEARLY_COLUMNS.index(
    "deviation from level, a year ago by holiday"
)
DEVIATION_BY_WEEKDAY = YEARLY_COLUMNS.index("deviation from level, 364 days ago")
RESPONSE = RESPONSE_COLUMNS.index("event response")
LOG_COUNT = RESPONSE_COLUMNS.index("log count of such days")
CHRISTMAS = [(date(2024, 12, 25), "Christmas"), (date(2025, 12, 25), "Christmas")]


def long_panel(n_days=740, holidays=()):
    games = make_events(("game", START, START, "Delft", None, None))
    return make_panel(2, n_days, 7, events=games, holidays=make_holidays(*holidays))


def test_every_calendar_column_has_its_name_and_meaning():
    panel = long_panel(holidays=CHRISTMAS)
    features = build_features(panel, ("holiday", "game"), 7)
    names = column_names(("holiday", "game"))
    column = {name: features.calendar_gtf[:, :, n] for n, name in enumerate(names)}
    assert features.calendar_gtf.shape[2] == len(names) == len(column)
    christmas = panel.step(CHRISTMAS[0][0])
    assert column["holiday"][0, christmas] == 1
    assert column["holiday, the day before"][0, christmas - 1] == 1
    assert column["holiday, the day after"][0, christmas + 1] == 1
    assert column["holiday is near"][0, christmas] == 1
    assert (
        column["holiday is near"][0, christmas - 3]
        > column["holiday is near"][0, christmas - 4]
    )
    delft = panel.calendar.group_d[0]
    assert column["game"][delft, 0] == 1
    np.testing.assert_array_equal(column["weekday 1"][0, :8], [1, 0, 0, 0, 0, 0, 0, 1])


def test_kinds_need_two_past_days():
    panel = long_panel(holidays=CHRISTMAS)
    assert choose_kinds(panel.calendar, panel.n_steps) == (
        "holiday",
        "holiday: Christmas",
    )
    assert choose_kinds(panel.calendar, panel.step(date(2025, 12, 24))) == ()


def test_a_residual_of_a_year_ago_appears_on_its_day_and_a_week_around():
    panel = long_panel()
    special = panel.step(date(2024, 9, 18))
    demand = panel.demand_dt.copy()
    demand[:, special] *= 3
    usual = build_features(panel, (), 7).yearly_dtf[0]
    tripled = build_features(replace(panel, demand_dt=demand), (), 7).yearly_dtf[0]
    for column, day in (
        (BY_HOLIDAY, special + 364),
        (WEEK_AFTER, special + 357),
        (WEEK_BEFORE, special + 371),
    ):
        change = (tripled - usual)[:, column]
        assert change[day] == pytest.approx(np.log(3), abs=0.02)
        assert np.abs(np.delete(change, day)).max() < 0.5 * np.log(3)


def test_yearly_residuals_beyond_the_usual_and_of_both_years_have_columns():
    panel = long_panel(n_days=1000)
    first, second = panel.step(date(2024, 9, 18)), panel.step(date(2025, 9, 17))

    def excess_and_both_years(*factors):
        demand = panel.demand_dt.copy()
        demand[:, [first, second]] *= factors
        features = build_features(replace(panel, demand_dt=demand), (), 7)
        return features.yearly_dtf[0, second + 364, [EXCESS, BOTH_YEARS]]

    excess, both_years = excess_and_both_years(2, 3)
    assert both_years == pytest.approx(np.log(2), abs=0.2)
    assert np.log(2) < excess < np.log(3)
    assert excess_and_both_years(1, 1)[0] == 0  # an ordinary day
    assert excess_and_both_years(0.5, 3)[1] == 0  # the signs differ
    assert excess_and_both_years(1 / 3, 1 / 2)[1] == pytest.approx(-np.log(2), abs=0.2)


def test_a_year_ago_is_matched_by_holiday_not_by_weekday():
    panel = long_panel(holidays=CHRISTMAS)
    special = panel.step(CHRISTMAS[0][0])
    demand = panel.demand_dt.copy()
    demand[:, special] = 100_000
    features = build_features(replace(panel, demand_dt=demand), (), 7)
    matched = features.yearly_dtf[0, :, DEVIATION_BY_HOLIDAY]
    assert matched[panel.step(CHRISTMAS[1][0])] > 4
    assert features.yearly_dtf[0, special + 364, DEVIATION_BY_WEEKDAY] > 4
    assert abs(matched[special + 364]) < 2


@pytest.mark.parametrize(
    ("special", "expected"), [(24, [23]), (25, [24]), (26, [25, 26])]
)
def test_days_in_a_row_of_one_holiday_are_matched_in_their_order(special, expected):
    """Next year's longer block has a fourth day, which is matched with this year's last day."""
    block = [(date(2024, 12, day), "Break") for day in (24, 25, 26)]
    next_block = [(date(2025, 12, day), "Break") for day in (23, 24, 25, 26)]
    panel = long_panel(holidays=block + next_block)
    demand = panel.demand_dt.copy()
    demand[:, panel.step(date(2024, 12, special))] = 100_000
    features = build_features(replace(panel, demand_dt=demand), (), 7)
    matched = features.yearly_dtf[0, :, DEVIATION_BY_HOLIDAY]
    peaks = [
        day for day in range(23, 27) if matched[panel.step(date(2025, 12, day))] > 4
    ]
    assert peaks == expected


def test_a_depots_age_starts_with_its_first_day():
    panel = make_panel(n_days=60)
    demand = panel.demand_dt.copy()
    demand[1, :20] = np.nan
    features = build_features(replace(panel, demand_dt=demand), (), 7)
    assert (features.age_dt[1, :20] == 0).all()
    assert features.age_dt[1, 20] == np.float32(np.log1p(1))


def test_days_beyond_the_receptive_field_change_no_feature():
    """Serving reads only the receptive field; training reads all days."""
    panel = long_panel(n_days=1400, holidays=CHRISTMAS)
    artefact = make_artefact(panel)
    served = panel.last(predict.receptive_field_days(artefact))
    assert served.n_steps < 1350
    whole, cut = (build_features(each, ("holiday",), 7) for each in (panel, served))
    # The context and the days its lags reach.
    near = slice(-(artefact.task.context + LOOKBACK_DAYS + 7), None)
    for name in ("log_demand_dt", "regular_dt", "age_dt", "level_dt", "spread_dt"):
        np.testing.assert_allclose(
            getattr(whole, name)[:, near], getattr(cut, name)[:, near],
            rtol=1e-5, err_msg=name,
        )  # fmt: skip
    np.testing.assert_allclose(
        whole.yearly_dtf[:, near], cut.yearly_dtf[:, near], atol=1e-5
    )


def test_a_calendar_of_the_stated_reach_equals_a_longer_one():
    from forecaster.data.features import CALENDAR_REACH

    horizon, day = 7, START + timedelta(days=59 + 8)
    holidays = make_holidays((day, "Eve"))
    near, far = (
        build_features(
            make_panel(2, 60, ahead, holidays=holidays), ("holiday",), horizon
        )
        for ahead in (horizon + CALENDAR_REACH, 77)
    )
    end = 60 + horizon
    np.testing.assert_allclose(
        near.calendar_gtf[:, :end], far.calendar_gtf[:, :end], atol=0.01
    )
    # The eve of the holiday on day 8 is seen from the last day of the horizon.
    eve = column_names(("holiday",)).index("holiday, the day before")
    assert near.calendar_gtf[0, end - 1, eve] == 1


def test_the_event_response_ends_a_horizon_before_the_day():
    """Games double the first depot's orders, and do not affect the second's."""
    games = [START + timedelta(days=day) for day in (60, 81, 102, 130)]
    rows = [("game", day, day, None, None, None) for day in games]
    demand = make_demand(2, 120)
    doubled = demand["service_on"].isin(games) & (demand["depot_id"] == "D0")
    demand.loc[doubled, "orders"] *= 2
    panel = make_panel(2, 120, 28, demand=demand, events=make_events(*rows))
    response = build_features(panel, ("game",), 14).event_response_dtf
    # Shrunk towards 0: the sum of three games' log 2, divided by three plus one.
    assert response[0, 130, RESPONSE] == pytest.approx(np.log(2) * 3 / 4, abs=0.15)
    assert abs(response[1, 130, RESPONSE]) < 0.15
    assert response[0, 130, LOG_COUNT] == pytest.approx(np.log(4))
    assert (response[:, 129] == 0).all()
    # At the origin 14 days before the second game, the first one is 7 days ago.
    assert response[0, 81, LOG_COUNT] == pytest.approx(np.log(2))
    near = build_features(panel, ("game",), 22).event_response_dtf
    assert near[0, 81, LOG_COUNT] == 0


def test_lasting_residuals_have_a_higher_autocorrelation_than_noise(rng):
    panel = make_panel(n_depots=2, n_days=200)
    noise = rng.normal(0, 0.3, 200)
    lasting = np.zeros(200)
    for day in range(1, 200):
        lasting[day] = 0.8 * lasting[day - 1] + noise[day]
    demand = np.round(200 * np.exp(np.stack([lasting, noise])))
    changed = replace(panel, demand_dt=demand.astype(np.float32))
    residual_autocorrelation = build_features(
        changed, (), 7
    ).residual_autocorrelation_dt[:, 199]
    assert residual_autocorrelation[0] > 0.4
    assert residual_autocorrelation[1] < residual_autocorrelation[0] - 0.3
