"""Doctor says whether JAX uses the accelerators of this machine."""

import pytest

from forecaster.errors import DeviceError
from pipelines.cli import doctor_findings
from pipelines.training import accelerators
from pipelines.training.accelerators import Devices
from tests.processes import run_python

CPU = Devices("cpu", 2, "cpu", None)
GPU = Devices("gpu", 1, "NVIDIA H200", None)
UNUSED = Devices("cpu", 1, "cpu", None, "The driver is older than this CUDA")
ON_REQUEST = Devices("cpu", 1, "cpu", "cpu")


def test_a_subprocess_reports_the_devices_of_jax():
    devices = accelerators.probe()
    assert (devices.platform, devices.requested, devices.kind) == ("cpu", "cpu", "cpu")
    assert devices.count >= 1


def test_doctor_does_not_start_jax_in_its_own_process():
    code = "import sys, pipelines.cli.doctor_findings; print('jax' in sys.modules)"
    done = run_python(code)
    assert done.stdout.strip() == "False"


def test_a_device_that_does_not_answer_is_given_up():
    with pytest.raises(DeviceError, match="did not start within 0 s"):
        accelerators.probe(timeout_s=0.01)


def test_the_reason_that_jax_does_not_start_is_shown(monkeypatch):
    environment = {"JAX_PLATFORMS": "abacus"}
    monkeypatch.setattr(accelerators, "child_environment", lambda **_: environment)
    with pytest.raises(DeviceError, match=r"JAX does not start: .*abacus"):
        accelerators.probe()


@pytest.mark.parametrize(
    ("devices", "files", "plugin", "good", "says"),
    [
        pytest.param(CPU, [], None, True, "on the CPU", id="a laptop"),
        pytest.param(GPU, ["nvidia0"], "1", True, "1 × NVIDIA H200", id="a GPU"),
        pytest.param(CPU, ["nvidia0"], None, True, "the extra 'gpu'", id="no plugin"),
        pytest.param(UNUSED, ["nvidia0"], "1", False, "older than this CUDA", id="unused"),
        pytest.param(CPU, ["accel0"], None, False, "the extra 'tpu'", id="no libtpu"),
        pytest.param(UNUSED, ["accel0"], "1", False, "accel0 exists", id="TPU unused"),
        pytest.param(ON_REQUEST, ["accel0"], "1", True, "as JAX_PLATFORMS says", id="requested"),
    ],
)  # fmt: skip
def test_jax_should_use_what_is_there(
    monkeypatch, tmp_path, devices, files, plugin, good, says
):
    for name in files:
        (tmp_path / name).touch()
    monkeypatch.setattr(accelerators, "DEV", tmp_path)
    monkeypatch.setattr(accelerators, "installed", lambda _: plugin)
    finding = doctor_findings.device_finding(devices)
    assert finding.ok is good
    assert says in finding.message


def test_packages_that_do_not_fit_the_installed_jax_are_named(monkeypatch):
    versions = {"jax": "0.10.2", "libtpu": "0.0.1", "jax-cuda13-plugin": "0.1.0"}
    monkeypatch.setattr(accelerators, "installed", versions.get)
    messages = accelerators.mismatches()
    assert [line.split()[0] for line in messages] == ["libtpu", "jax-cuda13-plugin"]
    assert "libtpu is 0.0.1, but jax 0.10.2 needs ==0.0." in messages[0]
    (wheels, _) = doctor_findings._accelerators()
    assert not wheels.ok


def test_the_installed_packages_fit():
    assert accelerators.mismatches() == []
