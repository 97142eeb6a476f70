"""Compiled programs are cached in a folder, and counted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from forecaster.model.compile_stats import (
    device_memory,
    persistent_cache,
    record_compilations,
)

pytestmark = pytest.mark.usefixtures("no_kept_programs")
MIB = 2**20


def program():
    """A new function of the same program each time, as in a new process."""

    def doubled_and_one_more(value):
        return 2 * value + 1

    return jax.jit(doubled_and_one_more)


@pytest.fixture
def value():
    return jax.block_until_ready(jnp.arange(11.0))


def ask(folder, value):
    with persistent_cache(folder, MIB), record_compilations() as recorded:
        answer = program()(value)
    return np.asarray(answer), recorded


def counts(stats):
    return stats.compilations, stats.cache_hits, stats.cache_misses


def test_the_next_process_reads_a_program_from_the_cache(tmp_path, value):
    first, compiled = ask(tmp_path, value)
    assert counts(compiled) == (1, 0, 1)
    again, outcome = ask(tmp_path, value)
    assert counts(outcome) == (0, 1, 0)
    np.testing.assert_array_equal(first, again)
    assert outcome.compile_seconds > 0


def test_without_a_folder_nothing_is_looked_for(value):
    with record_compilations() as recorded:
        program()(value)
    assert counts(recorded) == (1, 0, 0)


def test_compilations_after_the_block_are_not_counted(value):
    with record_compilations() as recorded:
        pass
    program()(value)
    assert recorded.n_loaded == 0


def test_each_block_keeps_to_its_own_folder(tmp_path, value):
    for name in ("one", "two"):
        _, recorded = ask(tmp_path / name, value)
        assert recorded.cache_misses == 1
        assert len(list((tmp_path / name).glob("*-cache"))) == 1
    assert jax.config.jax_compilation_cache_dir is None


def test_a_configured_cache_folder_stays(tmp_path, value):
    with persistent_cache(tmp_path / "configured", MIB):
        ask(tmp_path / "ours", value)
    assert list((tmp_path / "configured").glob("*-cache"))
    assert not (tmp_path / "ours").exists()


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda whole: whole[: len(whole) // 2], id="half written"),
        pytest.param(lambda _: b"", id="empty"),
        pytest.param(lambda _: b"of something else", id="foreign"),
    ],
)
def test_an_entry_that_is_not_whole_is_compiled_anew(tmp_path, value, spoil):
    right, _ = ask(tmp_path, value)
    (entry,) = tmp_path.glob("*-cache")
    entry.write_bytes(spoil(entry.read_bytes()))
    with pytest.warns(UserWarning, match="Error reading persistent compilation cache"):
        answer, recorded = ask(tmp_path, value)
    np.testing.assert_array_equal(answer, right)
    assert recorded.compilations == 1


def test_the_cpu_does_not_tell_of_its_memory():
    assert device_memory() == (None, None)
