"""Which depots come first, and the reason that stands below their names."""

import numpy as np
import pandas as pd
import pytest

from dashboard.text import ranking

DAYS = pd.date_range("2025-11-21", periods=2).as_unit("s")
DAY_BEFORE = pd.Timestamp("2025-11-19")

FLEET = {
    # depot: city, is_late, revised, change, (p10, p90) of each day
    "calm": ("London", False, 0.001, -0.50, [(90, 110), (90, 110)]),
    "late": ("London", True, 0.02, 0.03, [(95, 105), (95, 105)]),
    "moved": ("London", False, -0.30, 0.10, [(90, 110), (90, 110)]),
    "wide": ("London", False, np.nan, np.nan, [(90, 110), (40, 180)]),
    "other": ("Amsterdam", False, 0.05, 0.0, [(99, 101), (99, 101)]),
}


@pytest.fixture
def week():
    rows = [
        {
            "depot_id": depot.upper(),
            "name": depot,
            "city": city,
            "vans": 4.0,
            "is_late": late,
            "is_silent": False,
            "target_on": day,
            "p10": float(low),
            "p90": float(high),
            "revised": revised,
            "change": change,
            "before_on": DAY_BEFORE,
        }
        for depot, (city, late, revised, change, bands) in FLEET.items()
        for day, (low, high) in zip(DAYS, bands, strict=True)
    ]
    return pd.DataFrame(rows)


def shown(week, order):
    ranked = ranking.rank(week, order)
    return ranked.drop_duplicates("depot_id")


@pytest.mark.parametrize(
    ("order", "names"),
    [
        (ranking.URGENT, ["late", "moved", "calm", "wide"]),
        (ranking.REVISED, ["moved", "late", "calm", "wide"]),
        (ranking.BAND, ["wide", "calm", "moved", "late"]),
        (ranking.WEEK, ["calm", "moved", "late", "wide"]),
        (ranking.NAME, ["calm", "late", "moved", "wide"]),
    ],
)
def test_depots_are_sorted_within_their_city(week, order, names):
    assert shown(week, order)["name"].tolist() == ["other", *names]


@pytest.mark.parametrize("order", ranking.SORT_ORDERS)
def test_ranking_keeps_all_rows_and_days_in_order(week, order):
    ranked = ranking.rank(week.sample(frac=1, random_state=3), order)
    assert len(ranked) == len(week)
    for _, own in ranked.groupby("depot_id"):
        assert own["target_on"].tolist() == list(DAYS)
        assert np.ptp(own.index) == 1, "a depot's days stand together"


@pytest.mark.parametrize(
    ("order", "reasons"),
    [
        (
            ranking.URGENT,
            {
                "moved": "−30 % overnight",
                "calm": "no change",
                "wide": "",
            },
        ),
        (ranking.BAND, {"wide": "40 – 180 on Sat 22 Nov", "late": "95 – 105 on Fri"}),
        (ranking.WEEK, {"calm": "−50 % vs last week", "wide": ""}),
        (ranking.NAME, {"calm": "4 vans"}),
    ],
)
def test_each_depot_has_the_reason_for_its_position(week, order, reasons):
    shown_reasons = shown(week, order).set_index("name")["reason"]
    for name, reason in reasons.items():
        assert shown_reasons[name].startswith(reason)
        assert bool(shown_reasons[name]) == bool(reason)


def test_a_reason_names_an_older_forecast_by_its_day_and_unknown_vans_not(week):
    older = week.assign(before_on=pd.Timestamp("2025-11-17"))
    reasons = shown(older, ranking.URGENT).set_index("name")["reason"]
    assert reasons["moved"] == "−30 % since Mon 17 Nov"
    unknown = week.assign(vans=np.nan)
    assert set(shown(unknown, ranking.NAME)["reason"]) == {""}
