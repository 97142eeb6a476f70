"""Reports the devices that JAX would use on this machine.

A subprocess starts JAX, which takes seconds, may wait long for a missing TPU, and holds
its devices until it exits.
"""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass

from forecaster.errors import DeviceError
from pipelines.settings import child_environment

TIMEOUT_S = 60


@dataclass(frozen=True)
class DeviceReport:
    """The devices JAX would train on.

    Attributes:
      platform: `cpu`, `gpu` or `tpu`.
      requested: The value of JAX_PLATFORMS; empty if JAX chooses.
      kinds: Kind of each device that this process would use.
      memory_bytes: Memory of the smallest device; None if it is not reported.
    """

    platform: str
    requested: str
    kinds: tuple[str, ...]
    memory_bytes: int | None


def probe(timeout_s: float = TIMEOUT_S) -> DeviceReport:
    """Starts JAX in a subprocess and returns the devices it found.

    Raises:
      DeviceError: JAX failed, or did not start in time.
    """
    command = [sys.executable, "-m", __name__]
    try:
        done = subprocess.run(  # noqa: S603 - our own program, no shell
            command,
            env=child_environment(XLA_PYTHON_CLIENT_PREALLOCATE="false"),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DeviceError(
            f"JAX did not start within {timeout_s:.0f} s: a device, or another host of "
            "a TPU slice, does not answer"
        ) from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["it said nothing"]
        raise DeviceError(f"JAX does not start: {lines[-1]}")
    report = json.loads(done.stdout.splitlines()[-1])
    return DeviceReport(**{**report, "kinds": tuple(report["kinds"])})


def _read_devices() -> DeviceReport:
    import jax

    devices = jax.local_devices()
    limits = [(device.memory_stats() or {}).get("bytes_limit") for device in devices]
    return DeviceReport(
        platform=jax.default_backend(),
        requested=getattr(jax.config, "jax_platforms", None) or "",
        kinds=tuple(device.device_kind for device in devices),
        memory_bytes=min((limit for limit in limits if limit), default=None),
    )


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(_read_devices())) + "\n")
