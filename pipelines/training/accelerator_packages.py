"""Checks that JAX's accelerator packages and the NVIDIA driver are compatible.

The required versions come from the metadata of the installed JAX; nothing is imported.
"""

import re
from collections.abc import Iterator
from importlib.metadata import (
    PackageNotFoundError,
    entry_points,
    requires,
    version,
)
from pathlib import Path

EXTRAS = ("tpu", "cuda12", "cuda13")
PLUGINS = {"jax-cuda12-plugin": 525, "jax-cuda13-plugin": 580}
"""Minimum NVIDIA driver release per CUDA plugin, from JAX's installation page."""
DRIVER = Path("/proc/driver/nvidia/version")
REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)(?:\[[^\]]*\])?\s*(?P<rule>[^;\s]*)\s*;.*"
    rf'extra == "(?:{"|".join(EXTRAS)})"$'
)


def installed(name: str) -> str | None:
    """Returns the version of an installed distribution, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def plugins() -> list[str]:
    """Returns the installed CUDA plugins; one is enough."""
    return [name for name in PLUGINS if installed(name)]


def is_tpu_only_install() -> bool:
    """Whether the installed packages support only TPU and CPU."""
    return installed("libtpu") is not None and not entry_points(group="jax_plugins")


def mismatches() -> list[str]:
    """Messages on installed packages that do not match the installed JAX."""
    return [
        f"{name} is {found}, but jax {installed('jax')} needs {rule}"
        for name, rule in dict(_requirements()).items()
        if (found := installed(name)) and not satisfies(found, rule)
    ]


def driver_release(version_file: Path = DRIVER) -> int | None:
    """Returns the release of the NVIDIA driver, such as 580, or None without one.

    Args:
      version_file: The version file of the kernel module.
    """
    if not version_file.is_file():
        return None
    found = re.search(r"Kernel Module.*?\s(\d+)\.\d", version_file.read_text())
    return int(found.group(1)) if found else None


def satisfies(version: str, rule: str) -> bool:
    """Whether a version satisfies a rule such as `<=0.10.2,>=0.10.2` or `==0.0.42.*`."""
    return all(_satisfies_part(version, part) for part in rule.split(",") if part)


def _requirements() -> Iterator[tuple[str, str]]:
    for line in requires("jax") or () if installed("jax") else ():
        found = REQUIREMENT.match(line)
        if found and found["rule"]:
            yield found["name"], found["rule"]


def _satisfies_part(version: str, part: str) -> bool:
    operator, wanted = re.match(r"([<>=!~]*)(.*)", part).groups()  # type: ignore[union-attr]
    have, want = _numbers(version), _numbers(wanted)
    if operator == "==":
        return have[: len(want)] == want if wanted.endswith(".*") else have == want
    known = {"<=": have <= want, ">=": have >= want, "<": have < want, ">": have > want}
    # An operator that JAX does not use today counts as satisfied.
    return known.get(operator, True)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)))
