"""Memory and disk of a month's nights, measured after each."""

import itertools
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class ResourceUsage:
    """Memory and disk after each night of a month, in bytes."""

    memory: list[int] = field(default_factory=list)
    disk: list[dict[str, int]] = field(default_factory=list)

    def measure(self, home: Path) -> None:
        """Measures at the end of a night."""
        self.memory.append(resident_memory())
        folders = ("artefacts", "checkpoints", "compiled")
        self.disk.append({name: folder_size(home / name) for name in folders})

    def growth(self, name: str, since: int) -> list[int]:
        """Growth of a folder in each night after the night `since`, in bytes."""
        sizes = [each[name] for each in self.disk[since:]]
        return [after - before for before, after in itertools.pairwise(sizes)]


def resident_memory() -> int:
    """Resident memory of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return 1024 * int(line.split()[1])
    raise AssertionError("VmRSS is missing")


def folder_size(folder: Path) -> int:
    """Total size of the files in a folder, in bytes."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
