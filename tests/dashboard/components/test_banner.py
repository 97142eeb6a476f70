from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from dashboard.components.banner import banner
from dashboard.queries.freshness import Freshness

TODAY = date(2025, 11, 20)
DUE_ON = date(2025, 11, 19)
ZONE = ZoneInfo("Europe/Amsterdam")
FRESH = Freshness(
    depots=6,
    last_on=date(2025, 11, 19),
    champion="20251119-ab",
    origin_on=date(2025, 11, 19),
    until_on=date(2025, 11, 26),
    model="20251119-ab",
    filename="20251119-ab.npz",
    sha256="ab",
    made_at=datetime(2025, 11, 20, 3, 31, tzinfo=UTC),
    run_changes=0,
)


def test_facts_name_the_data_the_forecast_and_the_zone():
    texts = banner(FRESH, TODAY, DUE_ON, ZONE)
    assert texts.warning is None
    assert texts.facts == (
        "Orders up to **Wed 19 Nov** · forecast made Thu 20 Nov, 04:31 (times in "
        "Europe/Amsterdam)"
    )
    demo = banner(replace(FRESH, is_demo=True), TODAY, DUE_ON, ZONE)
    assert demo.facts == f"{texts.facts} · demo: an invented fleet"


def test_before_the_nightly_run_the_day_before_yesterday_is_current():
    before = DUE_ON - timedelta(days=1)
    older = replace(FRESH, last_on=before, origin_on=before)
    assert banner(older, TODAY, before, ZONE).warning is None
    assert banner(older, TODAY, DUE_ON, ZONE).warning is not None


def from_day(day):
    return {"last_on": day, "origin_on": day}


@pytest.mark.parametrize(
    ("changes", "cause", "command"),
    [
        pytest.param(
            from_day(date(2025, 11, 14)),
            "The newest orders are from Fri 14 Nov, 6 days ago",
            "harbor ingest",
            id="late orders",
        ),
        pytest.param(
            from_day(date(2024, 3, 14)),
            "Thu 14 Mar 2024, 616 days ago",
            "harbor ingest",
            id="of another year",
        ),
        pytest.param(
            {"origin_on": TODAY - timedelta(days=3)},
            "starts from Mon 17 Nov, 3 days ago, although newer orders are loaded",
            "harbor nightly",
            id="an old forecast",
        ),
        pytest.param(
            {"champion": "20251201-cd"},
            "not from the model in use (20251201-cd)",
            "`harbor forecast`",
            id="another champion",
        ),
        pytest.param(
            {"champion": None},
            "No model is in use",
            "`harbor models promote VERSION`",
            id="no champion",
        ),
    ],
)
def test_a_warning_has_its_cause_and_the_command_that_helps(changes, cause, command):
    warning = banner(replace(FRESH, **changes), TODAY, DUE_ON, ZONE).warning
    assert cause in warning
    assert command in warning


def test_while_a_run_is_at_work_a_delay_says_so_instead_of_what_to_do():
    late = replace(FRESH, **from_day(date(2025, 11, 14)))
    texts = banner(late, TODAY, DUE_ON, ZONE, "At work: Ingest. The forecast follows.")
    assert texts.warning == (
        "The newest orders are from Fri 14 Nov, 6 days ago. At work: Ingest. The forecast "
        "follows."
    )


def test_missing_data_at_forecast_time_is_a_notice_by_city():
    late = replace(
        FRESH, late_cities=(("Ghent", 2), ("St_Ives", 1)), alarms=("Too high.",)
    )
    notice, alarm = banner(late, TODAY, DUE_ON, ZONE).notices
    assert notice == (
        "Forecast with missing data: orders due by Wed 19 Nov had not come yet from some depots in "
        "Ghent (2) and St\\_Ives (1). Their bands are wider."
    )
    assert alarm == "Too high."
    assert banner(FRESH, TODAY, DUE_ON, ZONE).notices == ()


def test_the_first_of_many_late_cities_are_named():
    late = replace(FRESH, late_cities=tuple((f"City {n}", 1) for n in range(8)))
    [notice] = banner(late, TODAY, DUE_ON, ZONE).notices
    assert "City 4 (1) and 3 more cities." in notice
    assert "City 5" not in notice


def test_without_a_forecast_only_the_orders_are_stated():
    bare = replace(
        FRESH, champion=None, origin_on=None, model=None,
        made_at=None,
    )  # fmt: skip
    said = banner(bare, TODAY, DUE_ON, ZONE)
    assert said.facts == "Orders up to **Wed 19 Nov**"
    assert said.warning is None
