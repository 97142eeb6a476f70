"""What `harbor doctor` says of accelerators: wheels, driver, devices, and what nights cost."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from forecaster.errors import DeviceError
from pipelines.cli.findings import Finding
from pipelines.store import nightly_runs
from pipelines.training import accelerator_packages
from pipelines.training.device_files import gpus, tpus
from pipelines.training.device_probe import DeviceReport, probe

MONTH = timedelta(days=30)
MOST_OF_MEMORY = 0.80
LEAST_HITS = 0.95


def look_at_devices() -> list[Finding]:
    """Whether JAX would train on what this machine has; nothing where there is no JAX."""
    if accelerator_packages.installed("jax") is None:
        return []
    return [_wheels(), *_driver(accelerator_packages.driver_release()), _devices()]


def look_at_costs(engine: sa.Engine) -> list[Finding]:
    """Whether the nights of a month fit into memory, and find what they need compiled."""
    with engine.connect() as connection:
        costs = nightly_runs.training_costs(connection, MONTH)
    return [*memory_finding(costs), *cache_finding(costs)]


def _wheels() -> Finding:
    wrong = accelerator_packages.mismatches()
    if wrong:
        says = f"{'; '.join(wrong)}; install harbor-fleet with the extra again"
        return Finding("wheels", False, says)
    names = [*accelerator_packages.plugins(), "libtpu"]
    there = [
        f"{name} {found}"
        for name in names
        if (found := accelerator_packages.installed(name))
    ]
    return Finding(
        "wheels", True, f"match jax: {', '.join(there) or 'for the CPU alone'}"
    )


def _driver(release: int | None) -> list[Finding]:
    """The NVIDIA driver, where a plugin is there that needs one."""
    found = []
    for name in accelerator_packages.plugins():
        least = accelerator_packages.PLUGINS[name]
        if release is None:
            says = f"none is loaded, but {name} needs release {least} or newer"
            found.append(Finding("gpu driver", gpus() == [], says))
        else:
            says = f"release {release}; {name} needs {least} or newer"
            found.append(Finding("gpu driver", release >= least, says))
    return found


def _devices() -> Finding:
    try:
        return device_finding(probe(), gpus(), tpus())
    except DeviceError as error:
        # A TPU belongs to one process; while a night trains, that is the night.
        if "already in use" in str(error):
            return Finding("devices", True, str(error))
        says = f"{error}; see 'driver or wheel mismatch' in deploy/RUNBOOK.md"
        return Finding("devices", False, says)


def device_finding(
    seen: DeviceReport, gpus: Sequence[Path], tpus: Sequence[Path]
) -> Finding:
    """Whether JAX uses what the machine has.

    Args:
      seen: By JAX.
      gpus: Device files of NVIDIA GPUs.
      tpus: Device files of TPU chips.
    """
    memory = f", {seen.memory_bytes / 2**30:.0f} GiB each" if seen.memory_bytes else ""
    if seen.platform != "cpu":
        says = f"JAX trains on {len(seen.kinds)} × {seen.kinds[0]}{memory}"
        return Finding("devices", True, says)
    says = "JAX trains on the CPU"
    if seen.requested == "cpu":
        return Finding("devices", True, f"{says}, as JAX_PLATFORMS says")
    if tpus:
        says += (
            ", but TPU chips are here; install the extra 'tpu', and see which process "
            f"holds {tpus[0]}"
        )
        return Finding("devices", False, says)
    if gpus and accelerator_packages.plugins():
        says += ", but an NVIDIA GPU is here and its plugin installed; see 'gpu driver'"
        return Finding("devices", False, says)
    if gpus:
        says += "; an NVIDIA GPU is here, which the extra 'gpu' would use"
    return Finding("devices", True, says)


def memory_finding(costs: Sequence[dict[str, Any]]) -> list[Finding]:
    """The fullest a device was; nothing where none told."""
    told = [
        cost["device_memory_peak_bytes"] / cost["device_memory_limit_bytes"]
        for cost in costs
        if cost.get("device_memory_peak_bytes")
        and cost.get("device_memory_limit_bytes")
    ]
    if not told:
        return []
    says = f"at most {max(told):.0%} full in a month of trainings"
    if max(told) > MOST_OF_MEMORY:
        says += f", more than {MOST_OF_MEMORY:.0%}; see 'out of device memory' in "
        return [Finding("device memory", False, f"{says}deploy/RUNBOOK.md")]
    return [Finding("device memory", True, says)]


def cache_finding(costs: Sequence[dict[str, Any]]) -> list[Finding]:
    """How much was found compiled; one night that compiles is the first, or an upgrade."""
    nights_told = [cost for cost in costs if _asked(cost)]
    if not nights_told:
        return []
    hits = sum(cost["cache_hits"] for cost in nights_told)
    share = hits / sum(map(_asked, nights_told))
    cold = sum(cost["cache_misses"] > 0 for cost in nights_told)
    says = (
        f"{share:.0%} of programs found in it over a month; {cold} of "
        f"{len(nights_told)} nights compiled some"
    )
    if share < LEAST_HITS and cold > 1:
        says += "; see 'recompilation storm' in deploy/RUNBOOK.md"
        return [Finding("compile cache", False, says)]
    return [Finding("compile cache", True, says)]


def _asked(cost: dict[str, Any]) -> int:
    return int(cost.get("cache_hits", 0)) + int(cost.get("cache_misses", 0))
