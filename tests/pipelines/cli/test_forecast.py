"""Output of `harbor forecast` for people."""

from datetime import date

import pytest

from pipelines.cli import forecast

TOTAL = {"city": "", "target_on": date(2026, 11, 27), "p10": 90.0, "p90": 120.0}


@pytest.mark.parametrize(
    ("point", "planned", "expected"),
    [
        pytest.param(100.0, 100.0, "100 (90–120)", id="the model's"),
        pytest.param(100.0, 200.0, "200 (model 100) (180–240)", id="a planner's"),
        pytest.param(0.0, 50.0, "50 (model 0) (90–120)", id="of nothing"),
    ],
)
def test_the_interval_of_a_total_is_that_of_the_planned_number(
    capsys, point, planned, expected
):
    forecast.show_totals([TOTAL | {"point": point, "planned": planned}])
    printed = capsys.readouterr()
    assert expected in printed.out + printed.err
