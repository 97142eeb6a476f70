"""The accelerators of this machine, and whether JAX uses them; JAX is not imported here."""

import json
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, entry_points, requires, version
from pathlib import Path

from forecaster.errors import DeviceError
from pipelines.settings import child_environment

TIMEOUT_S = 60
EXTRAS = ("tpu", "cuda12", "cuda13")
"""Extras of jax whose requirements give the versions of its accelerator packages."""
PACKAGES = ("libtpu", "jax-cuda12-plugin", "jax-cuda13-plugin")
DEV = Path("/dev")
REPORT_DEVICES = """
import json, jax
devices = jax.local_devices()
kind, requested = devices[0].device_kind, jax.config.jax_platforms
print(json.dumps([devices[0].platform, len(devices), kind, requested]))
"""


@dataclass(frozen=True)
class Devices:
    """The devices on which JAX would train in this process: platform (`cpu`, `gpu`, `tpu`) and kind.

    `requested` is JAX_PLATFORMS, None if JAX chooses; `log` is the last line that JAX wrote to
    stderr, such as the reason why it does not use a GPU.
    """

    platform: str
    count: int
    kind: str
    requested: str | None
    log: str = ""


def installed(name: str) -> str | None:
    """Returns the version of an installed distribution, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def mismatches() -> list[str]:
    """Messages on accelerator packages that do not fit the installed JAX."""
    from packaging.requirements import Requirement

    rules = {}
    for requirement in map(Requirement, requires("jax") or ()):
        marker = requirement.marker
        if marker and any(marker.evaluate({"extra": extra}) for extra in EXTRAS):
            rules[requirement.name] = requirement.specifier
    return [
        f"{name} is {own_version}, but jax {installed('jax')} needs {rule}"
        for name, rule in rules.items()
        if (own_version := installed(name))
        and not rule.contains(own_version, prereleases=True)
    ]


def gpu_files() -> list[Path]:
    """Device files of NVIDIA GPUs."""
    return sorted(DEV.glob("nvidia[0-9]*")) + sorted(DEV.glob("dxg"))


def tpu_files() -> list[Path]:
    """Device files of TPU chips."""
    return sorted(DEV.glob("accel*")) + sorted(DEV.glob("vfio/[0-9]*"))


def has_only_tpu_support() -> bool:
    """Whether TPUs are the only accelerators that the installed packages support."""
    return installed("libtpu") is not None and not entry_points(group="jax_plugins")


def probe(timeout_s: float = TIMEOUT_S) -> Devices:
    """Starts JAX in a subprocess and returns the devices it uses.

    Starting takes seconds, may wait long for a missing TPU, and occupies the devices.

    Raises:
      DeviceError: JAX failed, or did not start in time.
    """
    try:
        finished = subprocess.run(  # noqa: S603 - our own program, no shell
            [sys.executable, "-c", REPORT_DEVICES],
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
    last_line = (finished.stderr.strip().splitlines() or [""])[-1]
    if finished.returncode != 0:
        raise DeviceError(f"JAX does not start: {last_line}")
    platform, count, kind, requested = json.loads(finished.stdout.splitlines()[-1])
    return Devices(platform, count, kind, requested, last_line)
