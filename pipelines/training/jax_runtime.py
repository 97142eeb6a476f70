"""Configures JAX before it starts: its devices, and its persistent compilation cache."""

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from platform import machine
from typing import TYPE_CHECKING

import structlog

from pipelines.settings import Settings, xla_flags
from pipelines.training import accelerators

if TYPE_CHECKING:
    from forecaster.model.two_stage_fit import Recipe

log = structlog.get_logger()

CPU_INFO = Path("/proc/cpuinfo")
CPU_LINES = ("model name", "flags", "Features", "CPU part")


def configure_jax(recipe: "Recipe") -> None:
    """Keeps JAX from probing for absent accelerators, and uses every core on the CPU."""
    from forecaster.model.cpu_devices import stay_on_cpu, use_all_cores

    if accelerators.has_only_tpu_support() and not accelerators.tpu_files():
        stay_on_cpu()
    use_all_cores(recipe.train.batch_size, xla_flags())


@contextmanager
def stdout_for_results() -> Iterator[None]:
    """Sends to stderr what libraries write to stdout in the block: Gloo tells of its connections."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


@contextmanager
def compile_cache(settings: Settings) -> Iterator[None]:
    """Enables JAX's persistent compilation cache in the block.

    If the folder cannot be used, JAX compiles without it, which is slower.
    """
    from forecaster.model.compile_stats import persistent_cache

    folder = settings.compiled / cpu_fingerprint()
    max_bytes = settings.compile_cache_mib * 2**20
    try:
        if max_bytes:
            _prepare(folder)
    except OSError as error:
        log.warning("compile_cache_not_used", reason=str(error))
        max_bytes = 0
    with persistent_cache(folder, max_bytes) if max_bytes else nullcontext():
        yield


def cpu_fingerprint() -> str:
    """A hash of the processor's model and features.

    JAX keys cache entries by its own version and the accelerator, but not by the processor,
    so it would run a program that was compiled for another one.
    """
    text = machine()
    if CPU_INFO.is_file():
        first_core = CPU_INFO.read_text().split("\n\n")[0].splitlines()
        text += "\n".join(line for line in first_core if line.startswith(CPU_LINES))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _prepare(folder: Path) -> None:
    """Creates the folder, accessible only to this user, because cached programs run unchecked."""
    if (
        folder.exists()
        and (folder.stat().st_mode | folder.parent.stat().st_mode) & 0o22
    ):
        log.warning("compile_cache_emptied", reason=f"{folder} was writable for others")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for path in (folder.parent, folder):
        path.chmod(0o700)
    for entry in folder.glob("*-cache"):
        # JAX writes the time of use last: an entry without it was interrupted.
        if not entry.with_name(entry.name.removesuffix("cache") + "atime").exists():
            entry.unlink(missing_ok=True)
