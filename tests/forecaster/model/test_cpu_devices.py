"""One CPU device per core, but no more than the batch can fill."""

import subprocess
import sys

import pytest

from forecaster.model.cpu_devices import cpu_devices


@pytest.mark.parametrize(
    ("batch_size", "cores", "expected"),
    [
        (64, 2, 2),
        (64, 1, 1),
        (64, 16, 4),
        (8, 16, 1),
        (96, 4, 4),
        (65, 2, 2),
        (64, 3, 3),
    ],
)
def test_there_is_a_device_per_core_as_long_as_each_has_enough_rows(
    batch_size, cores, expected
):
    assert cpu_devices(batch_size, cores) == expected


PREPARE = """
import os
from forecaster.model.cpu_devices import cpu_devices, use_all_cores
use_all_cores(64, "")
import jax
assert jax.local_device_count() == cpu_devices(64, len(os.sched_getaffinity(0)))
use_all_cores(16, "")  # JAX runs: nothing changes, nothing fails.
"""


def test_it_prepares_jax_before_it_starts_and_leaves_it_alone_afterwards():
    subprocess.run([sys.executable, "-c", PREPARE], check=True)
