"""What JAX sees on this machine.

A child looks: JAX takes seconds to start, waits long for a TPU that is gone, and must let
go again of the devices it took.
"""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass

from forecaster.errors import DeviceError
from pipelines.settings import environment_of_a_look

PATIENCE_S = 60


@dataclass(frozen=True)
class DeviceReport:
    """What JAX would train on.

    Attributes:
      platform: `cpu`, `gpu` or `tpu`.
      asked_for: What JAX_PLATFORMS says; empty where it is left to JAX.
      kinds: Of each device that this process would use.
      memory_bytes: Of the smallest of them; None where it does not tell.
    """

    platform: str
    asked_for: str
    kinds: tuple[str, ...]
    memory_bytes: int | None


def look(patience_s: float = PATIENCE_S) -> DeviceReport:
    """Starts JAX in a child, and says what it found.

    Raises:
      DeviceError: it failed, or did not answer in time.
    """
    command = [sys.executable, "-m", __name__]
    try:
        done = subprocess.run(  # noqa: S603 - our own program, no shell
            command,
            env=environment_of_a_look(),
            capture_output=True,
            text=True,
            timeout=patience_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DeviceError(
            f"JAX did not start within {patience_s:.0f} s: a device, or another host of "
            "a TPU slice, does not answer"
        ) from None
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        raise DeviceError(f"JAX does not start: {said[-1]}")
    told = json.loads(done.stdout.splitlines()[-1])
    return DeviceReport(**{**told, "kinds": tuple(told["kinds"])})


def _see() -> DeviceReport:
    import jax

    devices = jax.local_devices()
    limits = [(device.memory_stats() or {}).get("bytes_limit") for device in devices]
    return DeviceReport(
        platform=jax.default_backend(),
        asked_for=getattr(jax.config, "jax_platforms", None) or "",
        kinds=tuple(device.device_kind for device in devices),
        memory_bytes=min((limit for limit in limits if limit), default=None),
    )


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(_see())) + "\n")
