"""The benchmark of a night runs every step of one, on a fleet that is measured in a moment."""

import re
import subprocess
import sys

import pytest

from pipelines.nightly.steps import STEPS
from tests.benchmarks import night
from tests.benchmarks.night import WHOLE, Cost, growth

ROUNDED = 0.05 * (len(STEPS) + 1)
"""Most by which seconds printed to a tenth differ from their sum."""


@pytest.mark.db
@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux' /proc")
def test_every_step_of_a_night_has_its_cost():
    # A command, because it puts a stand-in in the place of training.
    command = [sys.executable, "-m", "tests.benchmarks.night"]
    sizes = ["--depots", "6", "--days", "80"]
    ended = subprocess.run(
        [*command, *sizes], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert re.search(r"scored=(\d+) step=score", ended.stdout)[1] != "0"
    assert "bytes a row: {'demand_versions': " in ended.stdout
    table = ended.stdout[ended.stdout.index("| step |") :].splitlines()[2:]
    expected = [*STEPS, WHOLE]
    assert [row.split(" | ")[0].strip("| ") for row in table] == expected
    costs = [
        [float(cell) for cell in re.findall(r"[\d.]+", row.replace(",", ""))]
        for row in table
    ]
    *steps, whole = (
        dict(zip(Cost.__annotations__, cost, strict=True)) for cost in costs
    )
    assert whole["wall_s"] >= sum(step["wall_s"] for step in steps) - ROUNDED
    assert whole["cpu_s"] > 0
    assert whole["peak_bytes"] == max(step["peak_bytes"] for step in steps)


def test_the_table_is_of_all_sizes():
    nights = {
        10: {"score": Cost(1.0, 2.0, 3 * night.MIB), WHOLE: Cost(2.0, 4.0, night.MIB)},
        100: {
            "score": Cost(5.0, 6.0, 7 * night.MIB),
            WHOLE: Cost(9.0, 36.0, 8 * night.MIB),
        },
    }
    table = night.table_of(nights, 1_000)
    assert "| score | 1.0 · 2.0 · 3 | 5.0 · 6.0 · 7 | 0.48 · 46 |" in table


@pytest.mark.parametrize(
    ("seconds", "power", "at_target"),
    [
        pytest.param((1.0, 10.0), 1.0, 100.0, id="in step with the depots"),
        pytest.param((1.0, 100.0), 2.0, 10_000.0, id="by their square"),
        pytest.param((2.0, 1.0), -0.30103, 1.0, id="noise is no gain"),
        # 1 s that does not grow, and 1 s for each 1,000 depots.
        pytest.param((2.0, 11.0), 0.74036, 101.0, id="with a part that does not grow"),
    ],
)
def test_a_cost_is_followed_to_another_size(seconds, power, at_target):
    found = growth((1_000, 10_000), seconds, 100_000)
    assert found == pytest.approx((power, at_target), abs=1e-4)
