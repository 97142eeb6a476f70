"""What JAX compiles, how long that takes, and the folder it may take it from instead."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import jax
from jax.experimental.compilation_cache.compilation_cache import reset_cache

COMPILED = "/jax/core/compile/backend_compile_duration"
ASKED = "/jax/compilation_cache/compile_requests_use_cache"
FOUND = "/jax/compilation_cache/cache_hits"
# By themselves only programs of a second or more are kept; a night has few, keep all.
KEEP_ALL = {
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
FOLDER = "jax_compilation_cache_dir"


@dataclass
class CompileStats:
    """What JAX has asked of its compiler while this listened.

    Attributes:
      programs: Ready to run, whether compiled or taken from the cache.
      asked: Looked for in the cache.
      cache_hits: Found there.
      seconds: Of compiling, and of reading from the cache.
    """

    programs: int = 0
    asked: int = 0
    cache_hits: int = 0
    seconds: float = 0.0

    @property
    def compilations(self) -> int:
        """Programs that were compiled, because they were not in the cache."""
        return self.programs - self.cache_hits

    @property
    def cache_misses(self) -> int:
        """Programs looked for in the cache in vain; 0 where there is no cache."""
        return self.asked - self.cache_hits

    def _hear(self, event: str, **_: str | int) -> None:
        # JAX counts as asked also what no folder could answer.
        self.asked += event == ASKED and _folder() is not None
        self.cache_hits += event == FOUND

    def _hear_seconds(self, event: str, duration_secs: float, **_: str | int) -> None:
        if event == COMPILED:
            self.programs += 1
            self.seconds += duration_secs


@contextmanager
def record_compilations() -> Iterator[CompileStats]:
    """Counts what JAX compiles until the end of the block."""
    heard = CompileStats()
    jax.monitoring.register_event_listener(heard._hear)
    jax.monitoring.register_event_duration_secs_listener(heard._hear_seconds)
    try:
        yield heard
    finally:
        jax.monitoring.unregister_event_listener(heard._hear)
        jax.monitoring.unregister_event_duration_listener(heard._hear_seconds)


@contextmanager
def persistent_cache(folder: Path) -> Iterator[None]:
    """Has JAX keep what it compiles in a folder, and take from there what it can.

    What lies there is run as it is: the folder must be one that nobody else may write.
    Where JAX has been told of a folder already, that one stays.
    """
    if _folder() is not None:
        yield
        return
    before = {name: getattr(jax.config, name) for name in (FOLDER, *KEEP_ALL)}
    _configure({FOLDER: str(folder), **KEEP_ALL})
    try:
        yield
    finally:
        _configure(before)


def device_memory() -> tuple[int | None, int | None]:
    """The fullest that one of this process's devices has been, and what it holds; bytes.

    None where the backend does not tell, as the CPU's.
    """
    told = [device.memory_stats() or {} for device in jax.local_devices()]
    peaks = [
        stats["peak_bytes_in_use"] for stats in told if "peak_bytes_in_use" in stats
    ]
    limits = [stats["bytes_limit"] for stats in told if "bytes_limit" in stats]
    return max(peaks, default=None), min(limits, default=None)


def _folder() -> str | None:
    folder: str | None = getattr(jax.config, FOLDER)
    return folder


def _configure(values: dict[str, object]) -> None:
    for name, value in values.items():
        jax.config.update(name, value)
    # JAX opens its folder once, and would go on with the one it has.
    reset_cache()
