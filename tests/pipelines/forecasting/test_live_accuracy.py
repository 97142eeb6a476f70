"""When the forecasts that were shown have been bad for long, it is said."""

from datetime import timedelta

import pytest

from pipelines.forecasting import live_accuracy
from pipelines.settings import Settings
from pipelines.store.accuracy import SegmentScores
from tests.pipelines.make import START

SETTINGS = Settings(alert_days_worse_than_naive=3)


def days(*errors, naive=0.2, inside=80):
    """A hundred depot-days a day, with the mean errors given; None: nothing compared."""
    return [
        SegmentScores(
            (START + timedelta(days=number),),
            n=100,
            n_in_interval=inside,
            n_comparable=0 if error is None else 100,
            ape_sum=100 * (error or 0),
            naive_ape_sum=0 if error is None else 100 * naive,
            median_ape_sum=0,
            actual_sum=0,
            error_sum=0,
            abs_error_sum=0,
        )
        for number, error in enumerate(errors)
    ]


@pytest.mark.parametrize(
    ("errors", "worse", "alarm"),
    [
        pytest.param([], 0, False, id="nothing scored"),
        pytest.param([0.3, 0.1, 0.3, 0.3], 2, False, id="two days"),
        pytest.param([0.1, 0.3, 0.3, 0.3], 3, True, id="three days"),
        pytest.param([0.3, 0.3, 0.3, 0.3, 0.1], 0, False, id="good again"),
        pytest.param([0.3, 0.2, 0.3, 0.3], 2, False, id="as good as it is not worse"),
        pytest.param([0.3, 0.3, None, 0.3], 3, True, id="a day without demand between"),
    ],
)
def test_days_in_a_row_worse_than_the_seasonal_naive(errors, worse, alarm):
    found = live_accuracy.assess(days(*errors), SETTINGS)
    assert found.worse_days == worse
    assert bool(found.alarms) is alarm


def test_the_alarm_says_since_when_by_how_much_and_what_to_do():
    found = live_accuracy.assess(days(0.1, 0.3, 0.4, 0.5), SETTINGS)
    (alarm,) = found.alarms
    assert "3 days in a row, from 2024-01-02 to 2024-01-04" in alarm
    assert "MAPE 40.0 % against 20.0 %" in alarm
    assert "harbor train" in alarm
    assert found.metrics()["alarms"] == [alarm]


@pytest.mark.parametrize(
    ("inside", "alarm"),
    [(69, True), (70, False), (80, False), (90, False), (91, True)],
)
def test_coverage_outside_its_band_is_an_alarm(inside, alarm):
    found = live_accuracy.assess(days(0.1, 0.1, inside=inside), SETTINGS)
    assert found.coverage == pytest.approx(inside / 100)
    assert bool(found.alarms) is alarm


@pytest.mark.parametrize(
    ("inside", "told"), [(69, "69.0 %"), (69.96, "69.9 %"), (90.04, "90.1 %")]
)
def test_an_alarm_of_coverage_never_names_a_share_that_is_allowed(inside, told):
    found = live_accuracy.assess(days(0.1, 0.1, inside=inside), SETTINGS)
    (alarm,) = found.alarms
    assert alarm.startswith(told)


def test_a_few_depot_days_say_nothing_of_coverage():
    found = live_accuracy.assess(days(0.1, inside=0), SETTINGS)
    assert found.coverage is None
    assert not found.alarms
