"""Compilation statistics, the persistent compilation cache, and the memory of devices."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import jax
from jax.experimental.compilation_cache.compilation_cache import reset_cache

COMPILE_SECONDS_EVENT = "/jax/core/compile/backend_compile_duration"
CACHE_REQUEST_EVENT = "/jax/compilation_cache/compile_requests_use_cache"
CACHE_HIT_EVENT = "/jax/compilation_cache/cache_hits"
# JAX's default keeps only programs that took a second or more to compile.
CACHE_EVERY_PROGRAM = {
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
CACHE_DIR = "jax_compilation_cache_dir"
CACHE_SIZE = "jax_compilation_cache_max_size"


@dataclass
class CompileStats:
    """Compilation statistics of a block.

    Attributes:
      n_loaded: Programs compiled or read from the cache.
      cache_requests: Look-ups in the cache.
      cache_hits: Programs read from the cache.
      compile_seconds: Seconds that compiling and reading took.
    """

    n_loaded: int = 0
    cache_requests: int = 0
    cache_hits: int = 0
    compile_seconds: float = 0.0

    @property
    def compilations(self) -> int:
        """Number of programs compiled."""
        return self.n_loaded - self.cache_hits

    @property
    def cache_misses(self) -> int:
        """Cache look-ups without a hit; 0 where there is no cache."""
        return self.cache_requests - self.cache_hits

    def _on_event(self, event: str, **_: str | int) -> None:
        # JAX counts requests even where no cache is configured.
        self.cache_requests += (
            event == CACHE_REQUEST_EVENT and getattr(jax.config, CACHE_DIR) is not None
        )
        self.cache_hits += event == CACHE_HIT_EVENT

    def _on_duration(self, event: str, duration_secs: float, **_: str | int) -> None:
        if event == COMPILE_SECONDS_EVENT:
            self.n_loaded += 1
            self.compile_seconds += duration_secs


@contextmanager
def record_compilations() -> Iterator[CompileStats]:
    """Counts JAX's compilations until the end of the block."""
    stats = CompileStats()
    jax.monitoring.register_event_listener(stats._on_event)
    jax.monitoring.register_event_duration_secs_listener(stats._on_duration)
    try:
        yield stats
    finally:
        jax.monitoring.unregister_event_listener(stats._on_event)
        jax.monitoring.unregister_event_duration_listener(stats._on_duration)


@contextmanager
def persistent_cache(folder: Path, max_bytes: int) -> Iterator[None]:
    """Uses a folder as JAX's persistent compilation cache until the end of the block.

    Cached programs run unchecked: nobody else may have write access to the folder. A cache that is
    already configured is kept. Above `max_bytes`, the least recently used programs are removed.
    """
    if getattr(jax.config, CACHE_DIR) is not None:
        yield
        return
    before = {
        name: getattr(jax.config, name)
        for name in (CACHE_DIR, CACHE_SIZE, *CACHE_EVERY_PROGRAM)
    }
    _configure({CACHE_DIR: str(folder), CACHE_SIZE: max_bytes, **CACHE_EVERY_PROGRAM})
    try:
        yield
    finally:
        _configure(before)


def _configure(values: dict[str, object]) -> None:
    for name, value in values.items():
        jax.config.update(name, value)
    # JAX opens its cache once, and would keep using the old folder.
    reset_cache()


def device_memory() -> tuple[int | None, int | None]:
    """Peak memory in use on any of this process's devices, and the smallest limit; bytes.

    None where the backend does not report them, such as the CPU's.
    """
    reports = [device.memory_stats() or {} for device in jax.local_devices()]
    peaks, limits = (
        [stats[name] for stats in reports if name in stats]
        for name in ("peak_bytes_in_use", "bytes_limit")
    )
    return max(peaks, default=None), min(limits, default=None)
