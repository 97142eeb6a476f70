"""Finds the source of harbor.toml that a file belongs to, and the file's options."""

from collections.abc import Mapping
from pathlib import PurePosixPath

from forecaster.errors import BadInputError, ConfigError, RefusedFileError
from pipelines.ingest.report import DEFAULT_SOURCE, FileOptions
from pipelines.ingest.sources import Source
from pipelines.settings.ingest import SourceSettings

Sources = Mapping[str, SourceSettings]


def require_readable(sources: Sources) -> None:
    """Validates every source before any file is read.

    Raises:
      ConfigError: one of them names a column, a format or an encoding that does not exist.
    """
    for name in sources:
        try:
            options_of_source(name, FileOptions(), sources)
        except BadInputError as error:
            raise ConfigError(f"[sources.{name}] in harbor.toml: {error}") from None


def options_of_file(
    file: Source, overrides: FileOptions, sources: Sources
) -> FileOptions:
    """Returns the options of a file, from the given source or the one whose pattern matches.

    Raises:
      BadInputError: the given source is not in harbor.toml.
      RefusedFileError: the file matches the patterns of several sources.
    """
    return options_of_source(
        overrides.source or _matching(file, sources), overrides, sources
    )


def options_of_source(
    name: str, overrides: FileOptions, sources: Sources
) -> FileOptions:
    """Returns the options of a source, with those of the call taking precedence.

    Raises:
      BadInputError: the source is not in harbor.toml, or is invalid.
    """
    if name not in sources and name != DEFAULT_SOURCE:
        there = f"only {', '.join(sources)}" if sources else "no sources"
        raise BadInputError(
            f"The source is {name!r}, but harbor.toml has {there}. Add [sources.{name}] to "
            "it, or name another."
        )
    defaults = sources.get(name, SourceSettings())
    own = "" if name == DEFAULT_SOURCE else name
    return FileOptions(
        kind=overrides.kind or defaults.kind,
        columns={**defaults.columns, **overrides.columns},
        date_format=overrides.date_format or defaults.date_format,
        encoding=overrides.encoding or defaults.encoding,
        decimal=overrides.decimal or defaults.decimal,
        separator=overrides.separator or defaults.separator,
        source=name,
        id_namespace=own if defaults.id_namespace is None else defaults.id_namespace,
        force=overrides.force or defaults.force,
    )


def _matching(file: Source, sources: Sources) -> str:
    path = PurePosixPath(file.path)
    matches = [
        name
        for name, defaults in sources.items()
        if defaults.pattern and path.match(defaults.pattern)
    ]
    if len(matches) > 1:
        raise RefusedFileError(
            f"{file.name} fits the patterns of {' and '.join(matches)} in harbor.toml, and is "
            "of one source. Make the patterns differ, or pass --source."
        )
    return matches[0] if matches else DEFAULT_SOURCE
