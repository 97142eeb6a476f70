"""Configures JAX's CPU devices for training; must run before JAX starts.

One device per core keeps every core busy through the many small products of a recurrent
network, which the threads inside one device cannot; on two cores it halves the time of a
step (tests/benchmarks/LAB.md).
"""

import ctypes
import os

import jax

MIN_ROWS = 16
"""Minimum windows per device; with fewer, a device's overhead exceeds its gain."""
TRIM_BYTES = 2**30
GROWTH_BYTES = 2**26
# Constants of glibc's malloc.h.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3


def use_all_cores(batch_size: int, xla_flags: str) -> None:
    """Configures one CPU device per core, as far as the batch allows.

    The devices stay as they are where JAX has started already, or where the flags (of the
    environment variable XLA_FLAGS) set the number.
    """
    keep_memory()
    if "xla_force_host_platform_device_count" in xla_flags:
        return
    try:
        jax.config.update("jax_num_cpu_devices", cpu_devices(batch_size, _cores()))
    except RuntimeError:
        # JAX has started: its devices stay as they are.
        return


def stay_on_cpu() -> None:
    """Restricts JAX to the CPU, unless its platform is configured.

    For a machine without an accelerator: libtpu, where it is installed, probes for a TPU
    and writes to stderr that it found none.
    """
    if not getattr(jax.config, "jax_platforms", None):
        jax.config.update("jax_platforms", "cpu")


def cpu_devices(batch_size: int, cores: int) -> int:
    """Number of devices: one per core, or fewer, so that each gets at least `MIN_ROWS` rows."""
    return max(1, min(cores, batch_size // MIN_ROWS))


def keep_memory() -> None:
    """Configures glibc to keep freed memory for the next step.

    Otherwise every step maps its buffers again page by page, which takes a third of its time.
    Does nothing without glibc.
    """
    mallopt = (
        getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    )
    if mallopt is None:
        return
    mallopt(M_MMAP_THRESHOLD, TRIM_BYTES)
    mallopt(M_TRIM_THRESHOLD, TRIM_BYTES)
    mallopt(M_TOP_PAD, GROWTH_BYTES)


def _cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
