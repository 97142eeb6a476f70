"""Which source of harbor.toml a file is of, and how it is read therefore."""

from collections.abc import Mapping
from pathlib import PurePosixPath

from forecaster.errors import BadInputError, ConfigError, RefusedFileError
from pipelines.ingest.report import DEFAULT_SOURCE, FileOptions
from pipelines.ingest.sources import Source
from pipelines.settings.ingest import SourceSettings

Known = Mapping[str, SourceSettings]


def require_readable(known: Known) -> None:
    """Checks every source, before any file is read.

    Raises:
      ConfigError: one of them names a column, a format or an encoding that does not exist.
    """
    for name in known:
        try:
            options_of_source(name, FileOptions(), known)
        except BadInputError as error:
            raise ConfigError(f"[sources.{name}] in harbor.toml: {error}") from None


def options_of_file(file: Source, asked: FileOptions, known: Known) -> FileOptions:
    """How a file is read: as the source that was named, or whose pattern it fits.

    Raises:
      BadInputError: the source that was named is not in harbor.toml.
      RefusedFileError: the file fits the patterns of several.
    """
    return options_of_source(asked.source or _matching(file, known), asked, known)


def options_of_source(name: str, asked: FileOptions, known: Known) -> FileOptions:
    """How files of one source are read; what was asked goes before what it says.

    Raises:
      BadInputError: it is not in harbor.toml, or says what cannot be.
    """
    if name not in known and name != DEFAULT_SOURCE:
        there = f"only {', '.join(known)}" if known else "no sources"
        raise BadInputError(
            f"The source is {name!r}, but harbor.toml has {there}. Add [sources.{name}] to "
            "it, or name another."
        )
    said = known.get(name, SourceSettings())
    own = "" if name == DEFAULT_SOURCE else name
    return FileOptions(
        kind=asked.kind or said.kind,
        columns={**said.columns, **asked.columns},
        date_format=asked.date_format or said.date_format,
        encoding=asked.encoding or said.encoding,
        decimal=asked.decimal or said.decimal,
        separator=asked.separator or said.separator,
        source=name,
        id_namespace=own if said.id_namespace is None else said.id_namespace,
        force=asked.force or said.force,
    )


def _matching(file: Source, known: Known) -> str:
    path = PurePosixPath(file.path)
    fits = [
        name
        for name, said in known.items()
        if said.pattern and path.match(said.pattern)
    ]
    if len(fits) > 1:
        raise RefusedFileError(
            f"{file.name} fits the patterns of {' and '.join(fits)} in harbor.toml, and is "
            "of one source. Make the patterns differ, or pass --source."
        )
    return fits[0] if fits else DEFAULT_SOURCE
