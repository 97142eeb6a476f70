"""The persistent compilation cache: per machine type, verified, and of bounded size.

Cached programs are executed as they are, so only this user may write the folder. Each
entry has a checksum file beside it; an entry from an interrupted write has none.
"""

import hashlib
import os
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import machine, system

import structlog

from pipelines.settings import Settings

log = structlog.get_logger()

LIBRARIES = ("jax", "jaxlib", "libtpu", "jax-cuda12-plugin", "jax-cuda13-plugin")
CPU_INFO = Path("/proc/cpuinfo")
CPU_LINES = ("model name", "flags", "Features", "CPU part")
ENTRY, CHECKSUM = "-cache", ".sha256"
MIN_AGE = timedelta(hours=1)
"""A younger entry without a checksum may still be being written."""


@contextmanager
def persistent_cache(settings: Settings) -> Iterator[None]:
    """Enables JAX's compilation cache in the block.

    If the folder cannot be used, JAX compiles without it, which is slower.
    """
    from forecaster.model.compile_stats import persistent_cache

    folder = open_folder(settings)
    if folder is None:
        yield
        return
    existing = set(folder.glob(f"*{ENTRY}"))
    with persistent_cache(folder):
        try:
            yield
        finally:
            _write_checksums(set(folder.glob(f"*{ENTRY}")) - existing)


def open_folder(settings: Settings) -> Path | None:
    """Returns this machine's folder without invalid entries; None if it is unusable."""
    if not settings.compile_cache_mib:
        return None
    folder = settings.compiled / fingerprint()
    try:
        for path in (settings.compiled, folder):
            _make_private(path)
        _clear(folder)
        _limit_size(settings.compiled, settings.compile_cache_mib * 2**20)
    except OSError as error:
        log.warning("compile_cache_not_used", reason=str(error))
        return None
    return folder


def fingerprint() -> str:
    """A hash of the processor's features and the library versions."""
    digest = hashlib.sha256(f"{system()} {machine()}".encode())
    digest.update(_processor().encode())
    for name in LIBRARIES:
        digest.update(f"{name} {_version(name)}".encode())
    return digest.hexdigest()[:16]


def _make_private(folder: Path) -> None:
    """Creates a folder that only this user may write; empties it if others could.

    Raises:
      PermissionError: the folder is a link, or belongs to another account.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = folder.lstat()
    ours = os.name != "posix" or about.st_uid == os.geteuid()
    if not (ours and stat.S_ISDIR(about.st_mode)):
        raise PermissionError(
            f"{folder} is a link or another account's, but what it holds would be run. "
            "Take it away"
        )
    if about.st_mode & 0o022:
        log.warning("compile_cache_emptied", reason=f"{folder} was open to others")
        _remove(folder.iterdir())
    folder.chmod(0o700)


def _clear(folder: Path) -> None:
    """Removes entries that do not match their checksum, and orphaned checksums."""
    young = time.time() - MIN_AGE.total_seconds()
    entries = set(folder.glob(f"*{ENTRY}"))
    invalid = [
        entry
        for entry in entries
        if not _is_valid(entry)
        and (_checksum_file(entry).exists() or entry.lstat().st_mtime < young)
    ]
    orphaned = [
        path
        for path in folder.glob(f"*{CHECKSUM}")
        if path.with_name(path.name.removesuffix(CHECKSUM)) not in entries
    ]
    _remove([*invalid, *map(_checksum_file, invalid), *orphaned])
    if invalid:
        log.info("compile_cache_cleared", entries=len(invalid))


def _is_valid(entry: Path) -> bool:
    if not stat.S_ISREG(entry.lstat().st_mode):
        return False
    try:
        return _checksum_file(entry).read_text() == _sha256(entry)
    except FileNotFoundError:
        return False


def _limit_size(root: Path, max_bytes: int) -> None:
    """Removes the least recently used entries of all machines, down to the limit."""
    entries = [(entry, entry.lstat()) for entry in root.glob(f"*/*{ENTRY}")]
    entries.sort(key=lambda item: max(item[1].st_atime, item[1].st_mtime))
    size = sum(about.st_size for _, about in entries)
    for entry, about in entries:
        if size <= max_bytes:
            return
        _remove([entry, _checksum_file(entry)])
        size -= about.st_size


def _write_checksums(entries: Iterable[Path]) -> None:
    """Writes the checksum of each complete entry beside it."""
    for entry in entries:
        entry.chmod(0o600)
        _checksum_file(entry).write_text(_sha256(entry))


def _checksum_file(entry: Path) -> Path:
    return entry.with_name(entry.name + CHECKSUM)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _processor() -> str:
    """The first core's model and features on Linux; empty on other systems."""
    if not CPU_INFO.is_file():
        return ""
    first = CPU_INFO.read_text().split("\n\n")[0]
    return "\n".join(line for line in first.splitlines() if line.startswith(CPU_LINES))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
