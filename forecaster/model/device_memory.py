"""Memory of the devices that JAX uses, as the backend reports it."""

import jax


def device_memory() -> tuple[int | None, int | None]:
    """Peak memory in use on any of this process's devices, and the smallest limit; bytes.

    None where the backend does not report them, such as the CPU's.
    """
    reports = [device.memory_stats() or {} for device in jax.local_devices()]
    peaks = [
        stats["peak_bytes_in_use"] for stats in reports if "peak_bytes_in_use" in stats
    ]
    limits = [stats["bytes_limit"] for stats in reports if "bytes_limit" in stats]
    return max(peaks, default=None), min(limits, default=None)
