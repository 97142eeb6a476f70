"""Memory and disk of a month's nights, measured after each."""

import itertools
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Figures:
    """Of one month's nights, in order; sizes in bytes."""

    memory: list[int] = field(default_factory=list)
    disk: list[dict[str, int]] = field(default_factory=list)

    def measure(self, home: Path) -> None:
        """Measures at the end of a night."""
        self.memory.append(resident())
        folders = ("artefacts", "checkpoints", "compiled")
        self.disk.append({name: size_of(home / name) for name in folders})

    def grown(self, name: str, since: int) -> list[int]:
        """By how much a folder grew in each night after one."""
        sizes = [each[name] for each in self.disk[since:]]
        return [after - before for before, after in itertools.pairwise(sizes)]


def resident() -> int:
    """Memory of this process, bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return 1024 * int(line.split()[1])
    raise AssertionError("Linux tells VmRSS")


def size_of(folder: Path) -> int:
    """Of all files below, bytes."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
