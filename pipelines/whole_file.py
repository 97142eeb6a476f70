"""Files that readers find whole or not at all."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UNFINISHED = ".part"
"""Suffix of a file that is being written; its name begins with a dot."""


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A new file to write; it takes the place of `path`, or of the file it links to, at the end.

    On an error it is removed, and an existing file stays as it was. Each writer has its own, so that
    of two at once the later one to end is kept.

    Raises:
      OSError: the folder is missing or cannot be written; `filename` is set.
    """
    target = path.resolve()
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}{UNFINISHED}")
    try:
        unfinished.open("wb").close()
        yield unfinished
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
