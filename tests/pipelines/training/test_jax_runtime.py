"""JAX's configuration before a training: its devices, and its compile cache."""

import stat
from types import SimpleNamespace

import jax
import pytest

from forecaster.model import cpu_devices
from pipelines.settings import Settings
from pipelines.training import accelerators, jax_runtime
from tests.processes import run_python

pytestmark = pytest.mark.usefixtures("no_kept_programs")
RECIPE = SimpleNamespace(train=SimpleNamespace(batch_size=64))
PRINTS = """
import os, sys
from pipelines.training import jax_runtime
with jax_runtime.stdout_for_results():
    os.write(1, b"Gloo ")
    sys.stdout.write("Python ")
sys.stdout.write("{}\\n")
"""
STARTS = """
from pathlib import Path
from types import SimpleNamespace
from pipelines.training import accelerators, jax_runtime
accelerators.DEV = Path("/no-such-folder")
jax_runtime.configure_jax(SimpleNamespace(train=SimpleNamespace(batch_size=64)))
import jax
print(jax.config.jax_platforms, jax.devices()[0].platform)
"""


@pytest.mark.skipif(accelerators.installed("libtpu") is None, reason="needs libtpu")
def test_a_machine_without_a_tpu_hears_nothing_of_libtpu(monkeypatch):
    monkeypatch.delenv("JAX_PLATFORMS")
    done = run_python(STARTS)
    assert done.stderr == ""
    assert done.stdout.split() == ["cpu", "cpu"]


@pytest.mark.parametrize(
    ("only_tpu", "files", "stays"),
    [(True, [], True), (True, ["accel0"], False), (False, [], False)],
)
def test_jax_is_kept_from_a_tpu_only_where_there_is_none(
    monkeypatch, tmp_path, only_tpu, files, stays
):
    for name in files:
        (tmp_path / name).touch()
    calls = []
    monkeypatch.setattr(accelerators, "DEV", tmp_path)
    monkeypatch.setattr(accelerators, "has_only_tpu_support", lambda: only_tpu)
    monkeypatch.setattr(cpu_devices, "stay_on_cpu", lambda: calls.append("cpu"))
    monkeypatch.setattr(cpu_devices, "use_all_cores", lambda *_: calls.append("cores"))
    jax_runtime.configure_jax(RECIPE)
    assert calls == ["cpu"] * stays + ["cores"]


def test_a_platform_that_is_configured_stays(monkeypatch):
    updates = []
    monkeypatch.setattr(jax.config, "update", lambda *what: updates.append(what))
    assert jax.config.jax_platforms == "cpu"
    cpu_devices.stay_on_cpu()
    assert updates == []


@pytest.fixture
def settings(tmp_path):
    return Settings(home=tmp_path, compile_cache_mib=1)


def compile_something(settings):
    """Compiles a program of three operations, and returns the entries of the cache."""
    with jax_runtime.compile_cache(settings):
        jax.block_until_ready(jax.jit(lambda value: value * 3 - 1)(5.0))
    return sorted(settings.compiled.rglob("*-cache"))


def test_the_cache_is_this_users_alone_and_emptied_where_others_could_write(settings):
    [entry, *_] = compile_something(settings)
    for folder in (settings.compiled, *settings.compiled.iterdir()):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    entry.write_bytes(b"of somebody else")
    entry.parent.chmod(0o777)
    assert compile_something(settings)
    assert entry.read_bytes() != b"of somebody else"
    assert stat.S_IMODE(entry.parent.stat().st_mode) == 0o700


def test_another_processor_has_a_cache_of_its_own(settings, monkeypatch, tmp_path):
    compile_something(settings)
    other = tmp_path / "cpuinfo"
    other.write_text("processor : 0\nflags : fpu avx512f\n\nprocessor : 1\n")
    monkeypatch.setattr(jax_runtime, "CPU_INFO", other)
    compile_something(settings)
    assert len(list(settings.compiled.iterdir())) == 2


def test_the_cache_has_a_maximum_size(settings):
    with jax_runtime.compile_cache(settings):
        assert jax.config.jax_compilation_cache_max_size == 2**20
    assert jax.config.jax_compilation_cache_max_size == -1


def test_no_size_means_no_cache(tmp_path):
    assert compile_something(Settings(home=tmp_path, compile_cache_mib=0)) == []
    assert not (tmp_path / "compiled").exists()


def test_a_folder_that_cannot_be_used_only_costs_time(settings):
    settings.compiled.touch()
    assert compile_something(settings) == []


def test_what_a_library_writes_to_stdout_does_not_spoil_a_result():
    done = run_python(PRINTS, PYTHONUNBUFFERED="")
    assert done.stdout == "{}\n"
    assert sorted(done.stderr.split()) == ["Gloo", "Python"]
