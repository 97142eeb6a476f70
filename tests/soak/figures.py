"""What a month took: time, memory, disk; measured night by night."""

import itertools
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa

MIB = 2**20


@dataclass
class Figures:
    """Of one month's nights, in order; sizes in bytes."""

    seconds: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    disk: list[dict[str, int]] = field(default_factory=list)
    database: list[int] = field(default_factory=list)

    @contextmanager
    def of_night(self, engine: sa.Engine, home: Path) -> Iterator[None]:
        """Measures one night, when it is over."""
        started = time.perf_counter()
        yield
        self.seconds.append(time.perf_counter() - started)
        self.memory.append(resident())
        folders = ("artefacts", "checkpoints", "compiled")
        self.disk.append({name: size_of(home / name) for name in folders})
        with engine.connect() as connection:
            size = sa.text("select pg_database_size(current_database())")
            self.database.append(connection.scalar(size) or 0)

    def grown(self, name: str, since: int) -> list[int]:
        """By how much a folder grew in each night after one."""
        sizes = [each[name] for each in self.disk[since:]]
        return [after - before for before, after in itertools.pairwise(sizes)]

    def lines(self, title: str) -> list[str]:
        """For a person."""
        models = statistics.median(self.grown("artefacts", 1)) / 1024
        first, last = self.disk[0], self.disk[-1]
        told = {
            "time": f"{len(self.seconds)} nights in {sum(self.seconds):.0f} s, half of them "
            f"within {statistics.median(self.seconds):.1f} s",
            "memory of the process": f"{self.memory[9] / MIB:.0f} MiB after ten nights, "
            f"{self.memory[-1] / MIB:.0f} MiB after the last",
            "compiled": f"{first['compiled'] / MIB:.2f} MiB after the first night, "
            f"{last['compiled'] / MIB:.2f} MiB after the last",
            "checkpoints": f"{last['checkpoints'] / MIB:.2f} MiB after the last night",
            "models": f"{models:.0f} KiB more each night",
            "database": f"{self.database[0] / MIB:.1f} MiB after the first night, "
            f"{self.database[-1] / MIB:.1f} MiB after the last",
        }
        return [title, *(f"  {what}: {says}" for what, says in told.items())]


def resident() -> int:
    """Memory of this process, bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return 1024 * int(line.split()[1])
    raise AssertionError("Linux tells VmRSS")


def size_of(folder: Path) -> int:
    """Of all files below, bytes."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
