"""A folder or a bucket of an object store, to which files are written whole or not at all."""

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from forecaster.errors import ConfigError
from pipelines.ingest.sources.files import without_credentials


@dataclass(frozen=True)
class Destination:
    """Where files are published.

    Attributes:
      address: Folder or URL without a password, for messages.
    """

    address: str
    _system: fs.FileSystem = field(repr=False)
    _root: str = field(repr=False)

    @classmethod
    def at(cls, url: str) -> "Destination":
        """Opens a folder or a URL.

        Raises:
          ConfigError: `url` is neither a folder nor a supported URL.
        """
        if "://" not in url:
            try:
                folder = Path(url).expanduser().resolve()
            except RuntimeError:
                raise ConfigError(
                    f"HARBOR_PUBLISH_URL is {url}, but this machine has no such user. "
                    "Correct it."
                ) from None
            return cls(str(folder), fs.LocalFileSystem(), folder.as_posix())
        address = without_credentials(url).rstrip("/")
        try:
            system, root = fs.FileSystem.from_uri(url)
        except pa.ArrowInvalid:
            raise ConfigError(
                f"HARBOR_PUBLISH_URL is {address}, but must be a folder, or begin with s3:// or "
                "gs:// and name a bucket, or be as abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/"
                "PATH. Correct it."
            ) from None
        return cls(address, system, root)

    def write(self, path: str, content: bytes | pa.Buffer) -> None:
        """Writes a file; an earlier one is replaced once the new one is complete.

        An object store shows an object only once it is complete; in a folder, the complete file is
        renamed.
        """
        target = f"{self._root}/{path}"
        if not isinstance(self._system, fs.LocalFileSystem):
            self._write(target, content)
            return
        folder, _, name = target.rpartition("/")
        self._system.create_dir(folder, recursive=True)
        unfinished = f"{folder}/.{name}.part"
        self._write(unfinished, content)
        self._system.move(unfinished, target)

    def _write(self, target: str, content: bytes | pa.Buffer) -> None:
        with self._system.open_output_stream(target) as stream:
            stream.write(content)

    def read(self, path: str) -> bytes | None:
        """Returns the content of a file; None if there is none."""
        target = f"{self._root}/{path}"
        if self._system.get_file_info(target).type == fs.FileType.NotFound:
            return None
        with self._system.open_input_stream(target) as stream:
            return bytes(stream.read())

    def folders(self, path: str) -> set[str]:
        """Names of the folders in a folder; none where it is missing."""
        inside = fs.FileSelector(f"{self._root}/{path}", allow_not_found=True)
        found = self._system.get_file_info(inside)
        return {info.base_name for info in found if not info.is_file}

    def delete(self, path: str) -> None:
        """Deletes a file, if there is one."""
        target = f"{self._root}/{path}"
        if self._system.get_file_info(target).type != fs.FileType.NotFound:
            self._system.delete_file(target)
