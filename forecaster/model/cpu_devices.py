"""Makes this machine's processor ready to train on; must run before JAX starts.

One device per core keeps every core busy through the many small products of a recurrent
network, which the threads inside one device cannot; on two cores it halves the time of a
step (tests/benchmarks/LAB.md).
"""

import ctypes
import os

import jax

LEAST_ROWS = 16
"""Windows a device gets at least; with fewer, starting it costs more than it does."""
KEPT_BYTES = 2**30
GROWTH_BYTES = 2**26
# Names of glibc's malloc.h.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3


def use_all_cores(batch_size: int, xla_flags: str) -> None:
    """One CPU device per core, as far as the batch feeds them.

    Does nothing where JAX has started already, or where the flags say how many.

    Args:
      batch_size: Windows of one step.
      xla_flags: Of the environment, XLA_FLAGS.
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
    """Has JAX look for no accelerator, unless it was told where to run.

    For a machine that has none: libtpu, where it is installed, looks for a TPU all the
    same, and writes to stderr by itself that it found nothing.
    """
    if not getattr(jax.config, "jax_platforms", None):
        jax.config.update("jax_platforms", "cpu")


def cpu_devices(batch_size: int, cores: int) -> int:
    """One device per core, as long as each has enough rows."""
    return max(1, min(cores, batch_size // LEAST_ROWS))


def keep_memory() -> None:
    """Has glibc keep what a step frees for the next one, instead of giving it back.

    Otherwise every step's buffers are fetched from the system page by page, which took a
    third of the step. Where there is no glibc, nothing changes.
    """
    mallopt = (
        getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    )
    if mallopt is None:
        return
    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES)
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
    mallopt(M_TOP_PAD, GROWTH_BYTES)


def _cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
