"""The folder of what JAX has compiled: for one kind of machine, whole, and of bounded size.

What lies there is run as it is, so nobody else may write it; and every file has a seal
beside it, its sha256, which a run that was killed in the middle of writing never made.
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
ENTRY, SEAL = "-cache", ".sha256"
WRITTEN_FOR = timedelta(hours=1)
"""What has no seal and is younger may be what another process writes now."""


@contextmanager
def kept(settings: Settings) -> Iterator[None]:
    """Has JAX keep what it compiles in the block, and take from there what it can.

    Where the folder cannot be trusted, it goes without: the night is slower, not wrong.
    """
    from forecaster.model.compile_stats import persistent_cache

    folder = opened(settings)
    if folder is None:
        yield
        return
    found = set(folder.glob(f"*{ENTRY}"))
    with persistent_cache(folder):
        try:
            yield
        finally:
            _seal(set(folder.glob(f"*{ENTRY}")) - found)


def opened(settings: Settings) -> Path | None:
    """This machine's folder, cleared of all that is not whole; None if it is not ours."""
    if not settings.compile_cache_mib:
        return None
    folder = settings.compiled / fingerprint()
    try:
        for each in (settings.compiled, folder):
            _make_private(each)
        _clear(folder)
        _bound(settings.compiled, settings.compile_cache_mib * 2**20)
    except OSError as error:
        log.warning("compile_cache_not_used", because=str(error))
        return None
    return folder


def fingerprint() -> str:
    """Names what compiled programs run on: the processor's abilities, and the libraries."""
    digest = hashlib.sha256(f"{system()} {machine()}".encode())
    digest.update(_processor().encode())
    for name in LIBRARIES:
        digest.update(f"{name} {_version(name)}".encode())
    return digest.hexdigest()[:16]


def _make_private(folder: Path) -> None:
    """Makes it, or takes from others the right to write it, with what they may have left.

    Raises:
      PermissionError: it is a link, or another account's.
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
        log.warning("compile_cache_emptied", because=f"{folder} was open to others")
        _remove(folder.iterdir())
    folder.chmod(0o700)


def _clear(folder: Path) -> None:
    """Removes entries that are not what was sealed, and seals without an entry."""
    young = time.time() - WRITTEN_FOR.total_seconds()
    entries = set(folder.glob(f"*{ENTRY}"))
    bad = [
        entry
        for entry in entries
        if not _is_whole(entry)
        and (_seal_of(entry).exists() or entry.lstat().st_mtime < young)
    ]
    lost = [
        seal
        for seal in folder.glob(f"*{SEAL}")
        if seal.with_name(seal.name.removesuffix(SEAL)) not in entries
    ]
    _remove([*bad, *map(_seal_of, bad), *lost])
    if bad:
        log.info("compile_cache_cleared", entries=len(bad))


def _is_whole(entry: Path) -> bool:
    if not stat.S_ISREG(entry.lstat().st_mode):
        return False
    try:
        return _seal_of(entry).read_text() == _sha256(entry)
    except FileNotFoundError:
        return False


def _bound(above: Path, most_bytes: int) -> None:
    """Removes the entries of all machines that were used longest ago, down to the bound."""
    entries = [(entry, entry.lstat()) for entry in above.glob(f"*/*{ENTRY}")]
    entries.sort(key=lambda each: max(each[1].st_atime, each[1].st_mtime))
    size = sum(about.st_size for _, about in entries)
    for entry, about in entries:
        if size <= most_bytes:
            return
        _remove([entry, _seal_of(entry)])
        size -= about.st_size


def _seal(entries: Iterable[Path]) -> None:
    """Writes the sha256 beside each entry that this process has made whole."""
    for entry in entries:
        entry.chmod(0o600)
        _seal_of(entry).write_text(_sha256(entry))


def _seal_of(entry: Path) -> Path:
    return entry.with_name(entry.name + SEAL)


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
    """What Linux says of the first core; nothing elsewhere, where machines differ less."""
    if not CPU_INFO.is_file():
        return ""
    first = CPU_INFO.read_text().split("\n\n")[0]
    return "\n".join(line for line in first.splitlines() if line.startswith(CPU_LINES))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
