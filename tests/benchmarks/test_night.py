"""The benchmark of a night runs every step of one, on a fleet that is measured in a moment."""

import sys
from multiprocessing import get_context

import pytest

from pipelines.nightly.steps import STEPS
from tests.benchmarks import night
from tests.benchmarks.night import WHOLE, Cost


@pytest.mark.db
@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux' /proc")
def test_every_step_of_a_night_has_its_cost():
    # In a process of its own, because it puts a stand-in in the place of training.
    with get_context("spawn").Pool(1) as pool:
        costs = pool.apply(night.measure, (6, 80))
    assert [*costs] == [*STEPS, WHOLE]
    assert costs[WHOLE].wall_s >= sum(costs[name].wall_s for name in STEPS)
    assert costs[WHOLE].cpu_s > 0
    assert costs[WHOLE].peak_bytes == max(cost.peak_bytes for cost in costs.values())


def test_the_table_and_the_ratios_are_of_all_sizes():
    nights = {
        10: {"score": Cost(1.0, 2.0, 3 * night.MIB), WHOLE: Cost(2.0, 4.0, night.MIB)},
        100: {
            "score": Cost(5.0, 6.0, 7 * night.MIB),
            WHOLE: Cost(9.0, 36.0, 8 * night.MIB),
        },
    }
    assert "| score | 1.0 · 2.0 · 3 | 5.0 · 6.0 · 7 |" in night.table_of(nights)
    assert night.ratios_of(nights) == {"growth": 9.0, "peak_mib": 8.0}
