"""The plan of a city over literal forecasts."""

import numpy as np
import pandas as pd
import pytest

from dashboard.planning import planning
from dashboard.planning.planning import Assumptions
from dashboard.tables import html_grids, tables
from dashboard.text import plan_summaries
from tests.dashboard.cells import Cells

DAYS = pd.to_datetime(["2025-11-21", "2025-11-22"]).as_unit("s")
NOTHING = pd.DataFrame(
    columns=["depot_id", "target_on", "action", "orders", "reason", "made_by"]
).astype({"target_on": "datetime64[s]", "orders": float})
MEDIAN = Assumptions(capacity=50, vans=5, level=0.5, drivers_per_van=1.5)


def fleet(*rows):
    columns = ["depot_id", "name", "target_on", "p50", "basis"]
    table = pd.DataFrame(rows, columns=columns).assign(city="London", vans=3.0)
    return table.assign(p10=table["p50"] * 0.8, p90=table["p50"] * 1.2)


@pytest.fixture
def week():
    return fleet(
        ("A", "Poplar", DAYS[0], 100.0, "model"),
        ("A", "Poplar", DAYS[1], 200.0, "model"),
        ("B", "Wapping", DAYS[0], 0.0, "closed"),
        ("B", "Wapping", DAYS[1], 149.0, "model"),
    )


def changes(*rows):
    return pd.DataFrame(rows, columns=NOTHING.columns).astype(NOTHING.dtypes.to_dict())


def test_every_depot_gets_the_vans_it_needs_where_there_are_enough(week):
    plan = planning.make_plan(week, NOTHING, Assumptions(50, 10, 0.5))
    assert plan["needed"].tolist() == plan["allocated"].tolist() == [2, 4, 0, 3]
    days = planning.by_day(plan, Assumptions(50, 10, 0.5))
    assert days["spare"].tolist() == [8, 3]


def test_too_few_vans_are_all_allocated(week):
    plan = planning.make_plan(week, NOTHING, MEDIAN)
    days = planning.by_day(plan, MEDIAN)
    assert days["needed"].tolist() == [2, 7]
    assert days["allocated"].tolist() == [2, 5]
    assert days["spare"].tolist() == [3, 0]
    # The third van of each is full in most cases, and the fourth of A carries more than
    # that: 200 orders fill it, 149 do not quite fill the third of B.
    assert plan["allocated"].tolist() == [2, 3, 0, 2]


def test_drivers_are_whole_and_follow_the_allocated_vans(week):
    plan = planning.make_plan(week, NOTHING, MEDIAN)
    assert plan["drivers"].tolist() == [3, 5, 0, 3]


def test_a_higher_cost_per_order_needs_more_vans(week):
    cheap, dear = (
        planning.make_plan(week, NOTHING, Assumptions(50, 99, None, per_order, 100))
        for per_order in (1.0, 50.0)
    )
    assert (dear["needed"] >= cheap["needed"]).all()
    assert dear["needed"].sum() > cheap["needed"].sum()


def test_an_override_moves_the_band_with_its_number(week):
    overridden = changes(("A", DAYS[0], "set", 150.0, "A strike", "Anna"))
    first = planning.make_plan(week, overridden, MEDIAN).iloc[0]
    assert (first["p10"], first["p50"], first["p90"]) == pytest.approx((120, 150, 180))
    assert (first["forecast"], first["is_set"], first["is_locked"]) == (
        100,
        True,
        False,
    )
    assert first["needed"] == 3


def test_a_closed_day_with_an_override_has_vans(week):
    overridden = changes(("B", DAYS[0], "lock", 60.0, "Open after all", "Anna"))
    row = planning.make_plan(week, overridden, MEDIAN).iloc[2]
    assert (row["p10"], row["p50"], row["p90"], row["needed"]) == (60, 60, 60, 2)
    assert row["is_locked"]


def test_a_withdrawn_override_is_the_forecast_again(week):
    overridden = changes(("A", DAYS[0], "withdraw", np.nan, "A mistake", "Anna"))
    row = planning.make_plan(week, overridden, MEDIAN).iloc[0]
    assert (row["p50"], row["is_set"]) == (100, False)


def test_the_default_capacity_makes_the_vans_suffice_on_the_busiest_day(week):
    assert planning.total_vans(week) == 6
    assert planning.default_capacity(week) == 70  # (200 + 149) * 1.2 / 6
    without = week.assign(vans=np.nan)
    assert planning.total_vans(without) is None
    assert planning.default_capacity(without) == planning.DEFAULT_CAPACITY


def test_the_grid_shows_vans_shortages_and_overrides(week):
    overridden = changes(
        ("A", DAYS[0], "set", 150.0, "<b>strike", "Anna"),
        ("B", DAYS[1], "lock", 149.0, "Roster", "Ben"),
    )
    plan = planning.make_plan(week, overridden, MEDIAN)
    html = html_grids.plan(plan, planning.by_day(plan, MEDIAN))
    assert Cells(html).text == [
        ["Depot", "Fri 21 Nov", "Sat 22 Nov"],
        ["Poplar", "3 set 150", "3 −1 200"],
        ["Wapping", "closed", "2 −1 locked 149"],
        ["Vans", "3", "5"],
        ["Vans needed", "3", "7"],
        ["Vans to spare", "2", "0"],
        ["Drivers", "5", "8"],
        ["Undelivered orders", *Cells(html).text[-1][1:]],
    ]
    assert "<b>strike" not in html


def test_the_plan_has_key_figures_and_a_sentence(week):
    plan = planning.make_plan(week, NOTHING, MEDIAN)
    days = planning.by_day(plan, MEDIAN)
    figures = plan_summaries.figures(days, MEDIAN)
    assert figures["Peak vans needed"] == ("7", "on Sat 22 Nov, of 5")
    assert figures["Van-days short"] == ("2", "The next 2 days")
    assert plan_summaries.shortage_sentence(days, "London").startswith(
        "Vans short on Sat 22 Nov (2). They are allocated"
    )
    many = Assumptions(50, 12, 0.5)
    rich = planning.by_day(planning.make_plan(week, NOTHING, many), many)
    assert plan_summaries.shortage_sentence(rich, "London") == (
        "London has enough vans every day, with at least 5 vans to spare."
    )


@pytest.mark.parametrize(
    ("assumed", "expected"),
    [
        (MEDIAN, "service level 50 %."),
        (
            Assumptions(50, 5, None, 4, 120.5),
            "at 4 per undelivered order and 120.5 per idle van.",
        ),
    ],
)
def test_the_assumptions_are_stated(assumed, expected):
    sentence = plan_summaries.assumptions_text("London", assumed)
    assert sentence.startswith("London: 5 vans per day, 50 orders per van, ")
    assert sentence.endswith(expected)


def test_the_plans_table_names_who_changed_what(week):
    overridden = changes(("A", DAYS[0], "set", 150.0, "A strike", "Anna"))
    first, second, *_ = tables.plan(
        planning.make_plan(week, overridden, MEDIAN)
    ).to_dict("records")
    assert (first["Planned orders"], first["Forecast"]) == (150, 100)
    assert (first["Reason"], first["Changed by"], first["Locked"]) == (
        "A strike",
        "Anna",
        "",
    )
    assert (second["Vans"], second["Vans needed"]) == (3, 4)
    assert pd.isna(second["Reason"])
