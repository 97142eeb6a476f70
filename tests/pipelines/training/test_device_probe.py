"""Doctor says whether JAX uses what the machine has, and what the nights cost."""

import subprocess
import sys
from pathlib import Path

import pytest

from forecaster.errors import DeviceError
from pipelines.cli import device_findings as findings
from pipelines.runs.ledger import recorded
from pipelines.training import accelerator_packages, device_probe
from pipelines.training.device_probe import DeviceReport

CPU = DeviceReport("cpu", "", ("cpu", "cpu"), None)
GPU = DeviceReport("gpu", "", ("NVIDIA H200",), 139 * 2**30)
GPU_FILE, TPU_FILE = Path("/dev/nvidia0"), Path("/dev/accel0")


def test_a_child_says_what_jax_sees():
    seen = device_probe.probe()
    assert (seen.platform, seen.requested) == ("cpu", "cpu")
    assert seen.kinds
    assert set(seen.kinds) == {"cpu"}
    assert seen.memory_bytes is None


def test_looking_does_not_start_jax_in_this_process():
    code = "import sys, pipelines.cli.device_findings; print('jax' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_a_device_that_does_not_answer_is_not_waited_for():
    with pytest.raises(DeviceError, match="did not start within 0 s"):
        device_probe.probe(timeout_s=0.01)


def test_what_jax_said_when_it_failed_is_told(monkeypatch):
    environment = {"JAX_PLATFORMS": "abacus"}
    monkeypatch.setattr(device_probe, "child_environment", lambda **_: environment)
    with pytest.raises(DeviceError, match=r"JAX does not start: .*abacus"):
        device_probe.probe()


@pytest.mark.parametrize(
    ("seen", "gpus", "tpus", "plugins", "good", "says"),
    [
        pytest.param(CPU, [], [], [], True, "on the CPU", id="a laptop"),
        pytest.param(GPU, [GPU_FILE], [], ["p"], True, "139 GiB each", id="a GPU"),
        pytest.param(CPU, [GPU_FILE], [], [], True, "extra 'gpu' would", id="no plugin"),
        pytest.param(CPU, [GPU_FILE], [], ["p"], False, "see 'gpu driver'", id="unused"),
        pytest.param(CPU, [], [TPU_FILE], [], False, "holds /dev/accel0", id="TPU gone"),
        pytest.param(
            DeviceReport("cpu", "cpu", ("cpu",), None), [GPU_FILE], [TPU_FILE], ["p"], True,
            "as JAX_PLATFORMS says", id="the CPU was asked for",
        ),
    ],
)  # fmt: skip
def test_jax_should_use_what_is_there(
    monkeypatch, seen, gpus, tpus, plugins, good, says
):
    monkeypatch.setattr(accelerator_packages, "plugins", lambda: plugins)
    found = findings.device_finding(seen, gpus, tpus)
    assert found.good is good
    assert says in found.says


@pytest.mark.parametrize(
    ("release", "good"), [(None, False), (570, False), (580, True), (590, True)]
)
def test_the_driver_must_be_as_new_as_the_plugin_needs(monkeypatch, release, good):
    monkeypatch.setattr(accelerator_packages, "plugins", lambda: ["jax-cuda13-plugin"])
    monkeypatch.setattr(findings, "gpus", lambda: [GPU_FILE])
    (found,) = findings._driver(release)
    assert found.good is good
    assert "580 or newer" in found.says


def test_the_driver_tells_its_release(tmp_path):
    told = tmp_path / "version"
    told.write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release "
        "Build\nGCC version:  gcc version 12.2.0\n"
    )
    assert accelerator_packages.driver_release(told) == 580
    assert accelerator_packages.driver_release(tmp_path / "none") is None


@pytest.mark.parametrize(
    ("there", "rule", "kept"),
    [
        ("0.10.2", "<=0.10.2,>=0.10.2", True),
        ("0.10.1", "<=0.10.2,>=0.10.2", False),
        ("0.12.0", "<=0.10.2,>=0.10.2", False),
        ("0.0.42.1", "==0.0.42.*", True),
        ("0.0.40", "==0.0.42.*", False),
        ("0.0.4", "==0.0.42.*", False),
        ("2.0", "", True),
    ],
)
def test_a_version_keeps_a_rule_or_breaks_it(there, rule, kept):
    assert accelerator_packages.satisfies(there, rule) is kept


def test_wheels_of_another_release_are_named(monkeypatch):
    """Of a jax that is as it is, with a libtpu and a plugin that are invented."""
    invented = {"jax": "0.10.2", "libtpu": "0.0.1", "jax-cuda13-plugin": "0.1.0"}
    monkeypatch.setattr(accelerator_packages, "installed", invented.get)
    told = accelerator_packages.mismatches()
    assert [line.split()[0] for line in told] == ["libtpu", "jax-cuda13-plugin"]
    assert "libtpu is 0.0.1, but jax 0.10.2 needs ==0.0." in told[0]


@pytest.mark.parametrize(
    ("peak", "limit", "good"),
    [(79, 100, True), (81, 100, False), (None, None, None), (5, None, None)],
)
def test_device_memory_should_not_be_nearly_full(peak, limit, good):
    emptier = {"device_memory_peak_bytes": 1, "device_memory_limit_bytes": 100}
    full = {"device_memory_peak_bytes": peak, "device_memory_limit_bytes": limit}
    costs = [emptier, full] if good is not None else [full, {}]
    found = findings.memory_finding(costs)
    assert [each.good for each in found] == ([] if good is None else [good])


@pytest.mark.parametrize(
    ("misses", "good"),
    [
        pytest.param([7], True, id="the first night"),
        pytest.param([7, 0, 0], True, id="one night of few"),
        pytest.param([7, 0, 0, 3], False, id="two of few"),
        pytest.param([7, *[0] * 28, 3], True, id="two in a month"),
        pytest.param([3] * 30, False, id="every night"),
    ],
)
def test_nights_should_find_what_they_need_compiled(misses, good):
    costs = [{"cache_hits": 7 - missed, "cache_misses": missed} for missed in misses]
    (found,) = findings.cache_finding([*costs, {"by_run": 3}])
    assert found.good is good
    assert f"of {len(misses)} " in found.says


def test_without_a_cache_there_is_nothing_to_say():
    assert findings.cache_finding([{"cache_hits": 0, "cache_misses": 0}, {}]) == []


@pytest.mark.db
def test_only_trainings_of_nights_count(clean_engine):
    with (
        recorded(clean_engine, "nightly") as night,
        recorded(clean_engine, "train", parent=night) as of_a_night,
    ):
        of_a_night.metrics |= {"cache_hits": 9, "cache_misses": 1}
    with recorded(clean_engine, "train") as by_hand:
        by_hand.metrics |= {"cache_hits": 0, "cache_misses": 7}
    (found,) = findings.look_at_costs(clean_engine)
    assert found.says.startswith("90% of programs found")
