"""Estimated effects of holidays and events, also of those that have not occurred yet."""

from dataclasses import replace
from datetime import date, timedelta

import holidays
import numpy as np
import pandas as pd
import pytest

from forecaster.data.calendar_effects import (
    calendar_residuals,
    fit_calendar_effects,
)
from forecaster.data.effect_columns import (
    MAJOR_HOLIDAY_MEAN,
    MAJOR_HOLIDAYS,
    YEAR_END_SHARE,
    effect_columns,
)
from forecaster.data.effects import fit_effects, forward_chained_effects
from forecaster.data.panel_builder import build_panel
from tests.make import make_depots, make_events, make_holidays

START, DAYS, AHEAD, HORIZON = date(2023, 9, 4), 200, 40, 7
CITIES = ("Ghent", "Lille")
WEEK = np.array([1.0, 1.1, 1.05, 1.2, 1.4, 0.7, 0.5])
THANKSGIVING, CHRISTMAS = date(2023, 11, 23), date(2023, 12, 25)


def fleet(
    rng,
    *,
    effect_of=None,
    n_depots=8,
    noise=0.05,
    promotion=0.0,
    promoted_steps=None,
    depot_id=None,
    days=DAYS,
):
    """Depots of two cities with a weekly pattern; `effect_of` holds log effects by day.

    Promotions are the city's, or of one depot.
    """
    cities = [CITIES[row % 2] for row in range(n_depots)]
    depots = make_depots(n_depots, city=cities, country="US")
    every = [START + timedelta(days=step) for step in range(days)]
    level_d1 = rng.uniform(80, 400, (n_depots, 1))
    weekday_t = (START.weekday() + np.arange(days)) % 7
    log_dt = np.log(level_d1 * WEEK[weekday_t]) + rng.normal(0, noise, (n_depots, days))
    for day, effect in (effect_of or {}).items():
        if START <= day < START + timedelta(days=days):
            log_dt[:, (day - START).days] += effect
    steps = promoted_steps or range(20, days + AHEAD, 31)
    promoted = [START + timedelta(days=each) for each in steps]
    for day in promoted:
        if (day - START).days < days:
            log_dt[::2, (day - START).days] += promotion
    demand = pd.DataFrame(
        {
            "depot_id": np.repeat(depots["depot_id"], days),
            "service_on": every * n_depots,
            "orders": np.round(np.exp(log_dt)).ravel(),
        }
    )
    city = "Ghent" if depot_id is None else None
    events = [("promotion", day, day, city, depot_id, None) for day in promoted]
    holidays = make_holidays(
        (date(2023, 10, 9), "Columbus Day"),
        (THANKSGIVING, "Thanksgiving Day"),
        (CHRISTMAS, "Christmas Day"),
        (date(2024, 1, 1), "New Year's Day"),
        country="US",
    )
    return build_panel(depots, demand, make_events(*events), holidays, every[-1], AHEAD)


def of_day(panel, effect_dt, day):
    return effect_dt[:, panel.step(day)]


def test_an_events_effect_is_found_where_it_was_and_nowhere_else(rng):
    panel = fleet(rng, promotion=0.5)
    effect_dt = fit_calendar_effects(panel).of(panel)
    promoted = of_day(panel, effect_dt, START + timedelta(days=20 + 31 * 6))
    ghent = np.array(panel.cities) == "Ghent"
    np.testing.assert_allclose(promoted[ghent], 0.5, atol=0.08)
    np.testing.assert_allclose(promoted[~ghent], 0.0, atol=1e-6)
    ordinary = START + timedelta(days=21)
    np.testing.assert_allclose(of_day(panel, effect_dt, ordinary), 0.0, atol=1e-6)
    np.testing.assert_array_equal(sd_on(panel, ordinary), 0.0)


def test_an_event_on_every_other_week_is_estimated_whole(rng):
    steps = [step for step in range(DAYS + AHEAD) if step // 7 % 2]
    panel = fleet(rng, promotion=0.4, promoted_steps=steps)
    effect_dt = fit_calendar_effects(panel).of(panel)
    ghent = np.array(panel.cities) == "Ghent"
    assert np.median(effect_dt[ghent][:, steps]) == pytest.approx(0.4, abs=0.06)
    usual = [step for step in range(DAYS) if step not in steps]
    # The median ignores the days around the four holidays.
    assert np.median(np.abs(effect_dt[:, usual])) < 1e-6


def test_what_an_event_on_every_other_week_leaves_is_noise(rng):
    """Signals are fitted to it; also where a depot has an event of its own."""
    steps = [step for step in range(DAYS + AHEAD) if step // 7 % 2]
    for depot_id in (None, "D0"):
        panel = fleet(rng, promotion=0.4, promoted_steps=steps, depot_id=depot_id)
        known = calendar_residuals(panel, fit_calendar_effects(panel))
        first_t = known.residual_dt[0, known.valid_dt[0]]
        # A median of neighbours adds some noise to that of the day, 0.05.
        assert np.median(np.abs(first_t)) < 0.06
        is_promoted_t = np.isin(np.flatnonzero(known.valid_dt[0]), steps)
        between = first_t[is_promoted_t].mean() - first_t[~is_promoted_t].mean()
        assert abs(between) < 0.05


def test_an_event_of_the_city_and_of_a_depot_on_one_day_counts_once(rng):
    panel = fleet(rng, promotion=0.5)
    both = fleet(rng, promotion=0.5, depot_id="D0")
    calendar = replace(panel.calendar, own=both.calendar.own)
    twice = replace(panel, calendar=calendar)
    effects = fit_calendar_effects(panel)
    np.testing.assert_allclose(effects.of(twice), effects.of(panel), atol=1e-6)
    step = 20 + 31
    assert effects.by_column(twice, step) == pytest.approx(
        effects.by_column(panel, step)
    )


def test_the_one_depot_beside_the_stadium_keeps_its_match_days(rng):
    panel = fleet(
        rng, n_depots=40, noise=0.2, promoted_steps=range(20, 440, 13), days=400
    )
    demand_dt = panel.demand_dt.copy()
    active_t = panel.calendar.of_kind("promotion")[panel.calendar.group_d[0], :400]
    demand_dt[0, active_t] *= 2
    effects = fit_calendar_effects(replace(panel, demand_dt=demand_dt))
    at = effect_columns(panel, effects.kinds).names.index("promotion")
    assert effects.depot_df[0, at] == pytest.approx(np.log(2), abs=0.15)
    assert np.abs(effects.depot_df[1:, at]).max() < 0.15
    own_t = effects.of(panel)[0, :400][active_t]
    assert np.median(own_t) == pytest.approx(effects.depot_df[0, at])


def test_a_first_christmas_is_told_by_thanksgiving(rng):
    panel = fleet(rng, effect_of={THANKSGIVING: -1.2}, days=100)
    assert panel.origin < CHRISTMAS
    christmas = of_day(panel, fit_calendar_effects(panel).of(panel), CHRISTMAS)
    assert (christmas < -0.4).all()


def test_a_first_christmas_is_expected_to_be_quiet_and_less_so_after_a_busy_thanksgiving(
    rng,
):
    christmas = [
        of_day(panel, fit_calendar_effects(panel).of(panel), CHRISTMAS).mean()
        for panel in (fleet(rng, days=days) for days in (76, 100))
    ]
    assert christmas[0] == pytest.approx(YEAR_END_SHARE * MAJOR_HOLIDAY_MEAN, abs=0.1)
    assert 0.7 * christmas[0] < christmas[1] < 0.0


def sd_on(panel, day):
    return of_day(panel, fit_calendar_effects(panel).sd_of(panel), day)


def test_the_more_often_a_kind_of_day_was_seen_the_better_its_effect_is_known(rng):
    before, after = (fleet(rng, promotion=0.4, days=days) for days in (76, 100))
    promoted = START + timedelta(days=20)
    assert (sd_on(before, CHRISTMAS) > 0.5).all()
    assert (sd_on(after, CHRISTMAS) < 0.8 * sd_on(before, CHRISTMAS)).all()
    assert (sd_on(after, promoted)[::2] < 0.3 * sd_on(after, CHRISTMAS)[::2]).all()


def test_the_true_effect_lies_as_far_off_as_its_standard_deviation_says(rng):
    promoted = START + timedelta(days=20)
    distances = []
    for true in rng.normal(0, 0.3, 40):
        panel = fleet(rng, promotion=true, noise=0.2, days=100)
        effects = fit_calendar_effects(panel)
        effect_d = of_day(panel, effects.of(panel), promoted)
        distances.append((effect_d[0] - true) / effects.sd_of(panel)[0, 20])
    assert 0.5 < np.sqrt(np.mean(np.square(distances))) < 1.3


def test_where_christmas_is_no_holiday_it_is_a_day_like_others(rng):
    panel = fleet(rng, days=76)
    names = panel.calendar.kinds.index("holiday: Christmas Day")
    active_gtk = panel.calendar.active_gtk.copy()
    active_gtk[:, :, names] = False
    elsewhere = replace(panel, calendar=replace(panel.calendar, active_gtk=active_gtk))
    effect_dt = fit_calendar_effects(elsewhere).of(elsewhere)
    for day in (CHRISTMAS - timedelta(days=1), CHRISTMAS + timedelta(days=1)):
        np.testing.assert_allclose(of_day(elsewhere, effect_dt, day), 0.0, atol=0.05)


def test_noise_alone_gives_hardly_any_effect(rng):
    panel = fleet(rng, noise=0.3)
    effects = fit_calendar_effects(panel)
    name = effect_columns(panel, effects.kinds).names.index("promotion")
    assert abs(effects.fleet_f[name]) < 0.2


def test_an_unknown_depot_answers_as_its_city_and_a_new_city_as_the_fleet(rng):
    panel = fleet(rng, promotion=0.4)
    effects = fit_calendar_effects(panel)
    moved = replace(
        panel,
        depot_ids=("new", *panel.depot_ids[1:]),
        cities=("Paris", *panel.cities[1:]),
    )
    day = START + timedelta(days=20)
    stranger = of_day(panel, effects.of(moved), day)[0]
    at = effect_columns(panel, effects.kinds).names.index("promotion")
    assert stranger == pytest.approx(effects.fleet_f[at], abs=1e-6)
    known_city = replace(
        panel, depot_ids=("new", *panel.depot_ids[1:]), cities=panel.cities
    )
    newcomer = of_day(panel, effects.of(known_city), day)[0]
    row = effects.cities.index("Ghent")
    assert newcomer == pytest.approx(effects.city_cf[row, at], abs=1e-6)


def test_unobserved_days_do_not_matter(rng):
    panel = fleet(rng, promotion=0.5)
    demand_dt = panel.demand_dt.copy()
    demand_dt[:, ::5] = np.nan
    demand_dt[3] = np.nan
    effect_dt = fit_calendar_effects(replace(panel, demand_dt=demand_dt)).of(panel)
    assert np.isfinite(effect_dt).all()
    promoted = of_day(panel, effect_dt, START + timedelta(days=20))[::2]
    np.testing.assert_allclose(promoted, 0.5, atol=0.1)


def test_in_training_an_effect_is_known_from_earlier_parts_only(rng):
    panel = fleet(rng, effect_of={CHRISTMAS: -2.0}, promotion=0.5)
    whole_dt = fit_calendar_effects(panel).of(panel)
    chained_dt = forward_chained_effects(
        fit_effects(panel, HORIZON), panel, HORIZON
    ).effect_dtf[..., 0]
    assert (of_day(panel, whole_dt, CHRISTMAS) < -1.0).all()
    assert (of_day(panel, chained_dt, CHRISTMAS) > -0.6).all()
    first, last = (START + timedelta(days=step) for step in (20, 175))
    assert (of_day(panel, whole_dt, first)[::2] > 0.3).all()
    assert (of_day(panel, chained_dt, first)[::2] < 0.05).all()
    assert (of_day(panel, chained_dt, last)[::2] > 0.3).all()


def test_every_major_holiday_is_one_of_the_library():
    names = {
        name.lower()
        for country in ("US", "GB", "IE", "NL", "DE", "FR", "IT", "FI", "NZ", "ES")
        for years in [range(2022, 2026)]
        for name in holidays.country_holidays(
            country, years=years, language="en_US"
        ).values()
    }
    names |= {
        name.lower()
        for name in holidays.country_holidays("GB", subdiv="SCT", years=2024).values()
    }
    unmatched = [
        part for part in MAJOR_HOLIDAYS if not any(part in name for name in names)
    ]
    assert unmatched == []
