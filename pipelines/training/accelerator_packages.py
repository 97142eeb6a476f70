"""Whether the wheels that JAX stands on fit each other, and the driver below them.

What fits is what the installed JAX says of its own extras; nothing is imported.
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
"""The oldest NVIDIA driver on which each one's CUDA runs, by JAX's installation page."""
DRIVER = Path("/proc/driver/nvidia/version")
REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)(?:\[[^\]]*\])?\s*(?P<rule>[^;\s]*)\s*;.*"
    rf'extra == "(?:{"|".join(EXTRAS)})"$'
)


def installed(name: str) -> str | None:
    """The version of a distribution, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def plugins() -> list[str]:
    """The CUDA plugins that are installed; one is enough."""
    return [name for name in PLUGINS if installed(name)]


def is_tpu_only_install() -> bool:
    """Whether JAX could run on a TPU or on the CPU, and on nothing else."""
    return installed("libtpu") is not None and not entry_points(group="jax_plugins")


def mismatches() -> list[str]:
    """Sentences on installed wheels that the installed JAX was not made for."""
    return [
        f"{name} is {there}, but jax {installed('jax')} needs {rule}"
        for name, rule in dict(_wanted()).items()
        if (there := installed(name)) and not satisfies(there, rule)
    ]


def driver_release(told: Path = DRIVER) -> int | None:
    """The NVIDIA driver's release, such as 580; None where there is none.

    Args:
      told: Where the kernel's module tells its version.
    """
    if not told.is_file():
        return None
    found = re.search(r"Kernel Module.*?\s(\d+)\.\d", told.read_text())
    return int(found.group(1)) if found else None


def satisfies(there: str, rule: str) -> bool:
    """Whether a version keeps a rule such as `<=0.10.2,>=0.10.2` or `==0.0.42.*`."""
    return all(_keeps(there, part) for part in rule.split(",") if part)


def _wanted() -> Iterator[tuple[str, str]]:
    for line in requires("jax") or () if installed("jax") else ():
        found = REQUIREMENT.match(line)
        if found and found["rule"]:
            yield found["name"], found["rule"]


def _keeps(there: str, part: str) -> bool:
    operator, wanted = re.match(r"([<>=!~]*)(.*)", part).groups()  # type: ignore[union-attr]
    have, want = _numbers(there), _numbers(wanted)
    if operator == "==":
        return have[: len(want)] == want if wanted.endswith(".*") else have == want
    known = {"<=": have <= want, ">=": have >= want, "<": have < want, ">": have > want}
    # A kind of rule that JAX does not use today is not held against anybody.
    return known.get(operator, True)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)))
