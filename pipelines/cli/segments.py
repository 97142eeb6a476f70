"""Parses the option --by of `harbor backtest` and `harbor models live`."""

from collections.abc import Sequence

import typer


def segment_tables(
    options: Sequence[str], allowed: Sequence[str]
) -> list[tuple[str, ...]]:
    """Returns the segments of each table: those of one option are taken together.

    Raises:
      BadParameter: one is unknown, or named twice.
    """
    tables = []
    for option in options:
        segments = tuple(name.strip() for name in option.split(",") if name.strip())
        unknown = [name for name in segments if name not in allowed]
        if unknown or not segments or len({*segments}) < len(segments):
            raise typer.BadParameter(
                f"--by is {option!r}, but must be one of {', '.join(allowed)}, or several of "
                "them separated by commas, each once."
            )
        tables.append(segments)
    return tables
