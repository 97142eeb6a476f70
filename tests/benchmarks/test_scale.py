"""Estimates for sizes that were not measured follow from those that were."""

import pytest

from tests.benchmarks.scale import Grown, table_of


@pytest.mark.parametrize(
    ("seconds", "slope", "at_target"),
    [
        pytest.param((1.0, 10.0), 1.0, 100.0, id="in step with the depots"),
        pytest.param((1.0, 100.0), 2.0, 10_000.0, id="by their square"),
        pytest.param((1.0, 1.0), 0.0, 1.0, id="not at all"),
        pytest.param((2.0, 1.0), -0.30103, 1.0, id="noise is no gain"),
        # 1 s that does not grow, and 1 s for each 1,000 depots.
        pytest.param((2.0, 11.0), 0.74036, 101.0, id="with a part that does not grow"),
    ],
)
def test_a_cost_is_followed_to_another_size(seconds, slope, at_target):
    grown = Grown((1_000, 10_000), seconds)
    assert grown.slope == pytest.approx(slope, abs=1e-4)
    assert grown.at(100_000) == pytest.approx(at_target)


def test_the_last_two_sizes_count():
    assert Grown((10, 1_000, 10_000), (9.0, 1.0, 10.0)).slope == pytest.approx(1.0)


def test_a_page_that_gave_up_stays_without_a_number():
    table = table_of({"page": Grown((10, 100), (1.0, float("nan")))}, 1_000)
    assert "| page | 1.00 | nan | nan | nan |" in table
