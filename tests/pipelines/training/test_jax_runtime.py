"""JAX looks for a TPU where there may be one, and stays quiet where there is none."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from forecaster.model import cpu_devices
from pipelines.training import accelerator_packages, device_files, jax_runtime

ROOT = Path(__file__).parents[3]
STARTS = """
from types import SimpleNamespace
from pipelines.training import device_files, jax_runtime
device_files.may_have_tpu = lambda: False
jax_runtime.configure_jax(SimpleNamespace(train=SimpleNamespace(batch_size=64)))
import jax
print(jax.config.jax_platforms, jax.devices()[0].platform)
"""


@pytest.mark.skipif(
    accelerator_packages.installed("libtpu") is None, reason="needs libtpu"
)
def test_a_machine_without_a_tpu_hears_nothing_of_libtpu(monkeypatch):
    monkeypatch.delenv("JAX_PLATFORMS")
    done = subprocess.run(
        [sys.executable, "-c", STARTS],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.split() == ["cpu", "cpu"]


@pytest.mark.parametrize(
    ("only_tpu_s", "may_have_tpu", "stays"),
    [(True, False, True), (True, True, False), (False, False, False)],
)
def test_jax_is_kept_from_looking_only_where_there_is_nothing_to_find(
    monkeypatch, only_tpu_s, may_have_tpu, stays
):
    said = []
    monkeypatch.setattr(accelerator_packages, "is_tpu_only_install", lambda: only_tpu_s)
    monkeypatch.setattr(device_files, "may_have_tpu", lambda: may_have_tpu)
    monkeypatch.setattr(cpu_devices, "stay_on_cpu", lambda: said.append("cpu"))
    monkeypatch.setattr(cpu_devices, "use_all_cores", lambda *_: said.append("cores"))
    jax_runtime.configure_jax(SimpleNamespace(train=SimpleNamespace(batch_size=64)))
    assert said == ["cpu"] * stays + ["cores"]


def test_what_the_environment_says_of_platforms_is_believed(monkeypatch):
    import jax

    told = []
    monkeypatch.setattr(jax.config, "update", lambda *what: told.append(what))
    assert jax.config.jax_platforms == "cpu"
    cpu_devices.stay_on_cpu()
    assert told == []


@pytest.mark.parametrize(
    ("name", "says", "found"),
    [
        ("dev/accel0", "", True),
        ("dev/vfio/0", "", True),
        ("sys/bus/pci/devices/0000:00:04.0/vendor", "0x1ae0\n", True),
        ("sys/bus/pci/devices/0000:00:04.0/vendor", "0x8086\n", False),
        ("dev/vfio/vfio", "", False),
    ],
)
def test_a_tpu_shows_as_a_device_or_on_the_bus(
    tmp_path, monkeypatch, name, says, found
):
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(says)
    monkeypatch.setattr(device_files, "ROOT", tmp_path)
    assert device_files.may_have_tpu() is found
