"""The folder of what JAX compiled is ours alone, whole, of one machine, and bounded."""

import os
import stat
import time

import pytest

from pipelines.settings import Settings
from pipelines.training import compile_cache

OLD = 2 * compile_cache.MIN_AGE.total_seconds()


@pytest.fixture
def settings(tmp_path):
    return Settings(home=tmp_path, compile_cache_mib=1)


def write(folder, name, content=b"program", age=0.0, seal=True):
    entry = folder / f"{name}-cache"
    entry.write_bytes(content)
    if seal:
        compile_cache._write_checksums([entry])
    os.utime(entry, (time.time() - age,) * 2)
    return entry


def names(folder):
    return sorted(path.name.split("-")[0] for path in folder.glob("*-cache"))


def test_nobody_else_may_enter_it(settings):
    folder = compile_cache.open_folder(settings)
    for each in (folder, folder.parent):
        assert stat.S_IMODE(each.stat().st_mode) == 0o700


def test_what_others_could_write_is_emptied(settings):
    folder = compile_cache.open_folder(settings)
    write(folder, "a")
    folder.chmod(0o777)
    assert names(compile_cache.open_folder(settings)) == []
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_link_in_its_place_is_not_followed(settings, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    settings.compiled.symlink_to(elsewhere)
    assert compile_cache.open_folder(settings) is None
    assert list(elsewhere.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_another_accounts_folder_is_not_used(settings):
    settings.compiled.mkdir(mode=0o700)
    os.chown(settings.compiled, 12345, -1)
    assert compile_cache.open_folder(settings) is None


def test_a_size_of_none_means_no_cache(tmp_path):
    settings = Settings(home=tmp_path, compile_cache_mib=0)
    assert compile_cache.open_folder(settings) is None
    assert not settings.compiled.exists()


def test_only_what_is_as_it_was_sealed_stays(settings):
    folder = compile_cache.open_folder(settings)
    write(folder, "whole", age=OLD)
    write(folder, "cut").write_bytes(b"prog")
    write(folder, "killed", seal=False, age=OLD)
    write(folder, "written", seal=False)
    (folder / "gone-cache.sha256").write_text("of an entry that is not there")
    assert names(compile_cache.open_folder(settings)) == ["whole", "written"]
    assert [path.name for path in folder.glob("*.sha256")] == ["whole-cache.sha256"]


def test_beyond_the_bound_what_was_used_longest_ago_goes(settings):
    folder = compile_cache.open_folder(settings)
    other = folder.with_name("another machine")
    other.mkdir()
    half = b"x" * 400_000
    write(other, "oldest", half, age=3 * OLD)
    write(folder, "old", half, age=2 * OLD)
    write(folder, "new", half, age=OLD)
    compile_cache.open_folder(settings)
    assert (names(other), names(folder)) == ([], ["new", "old"])
    assert not list(other.iterdir())


@pytest.mark.parametrize(
    ("what", "value"),
    [
        pytest.param("_processor", lambda: "flags : fpu avx512f", id="processor"),
        pytest.param("_version", lambda name: f"{name} 99", id="libraries"),
        pytest.param("machine", lambda: "riscv64", id="architecture"),
    ],
)
def test_another_machine_has_another_folder(settings, monkeypatch, what, value):
    folder = compile_cache.open_folder(settings)
    write(folder, "here")
    monkeypatch.setattr(compile_cache, what, value)
    assert names(compile_cache.open_folder(settings)) == []
    assert names(folder) == ["here"]


def test_what_was_compiled_is_sealed_also_by_a_training_that_fails(settings):
    import jax

    def fail():
        with compile_cache.persistent_cache(settings):
            jax.jit(lambda value: value * 3 - 1)(5.0)
            raise MemoryError("too large")

    with pytest.raises(MemoryError):
        fail()
    folder = compile_cache.open_folder(settings)
    entries = list(folder.glob("*-cache"))
    assert entries
    assert len(list(folder.glob("*.sha256"))) == len(entries)
    assert all(stat.S_IMODE(entry.stat().st_mode) == 0o600 for entry in entries)
