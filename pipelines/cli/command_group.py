"""Base class of the command groups: sets up logging and NumPy before a command runs."""

from collections.abc import Callable, Mapping
from typing import Any

import typer
from typer.core import TyperCommand

MAX_INTEGER = 2**63 - 1
"""Largest integer that Postgres stores."""


class Command(TyperCommand):
    """A command that sets up logging and NumPy before it runs, but not to show its help."""

    def invoke(self, ctx: Any) -> Any:
        """Runs the command."""
        from pipelines.cli.logs import capture_library_logs, configure_logs
        from pipelines.settings import use_one_blas_thread

        use_one_blas_thread()
        configure_logs()
        capture_library_logs()
        _require_storable(ctx.params)
        return super().invoke(ctx)


def _require_storable(parameters: Mapping[str, object]) -> None:
    """Rejects integers that are too large for Postgres.

    Raises:
      BadParameter: an integer is larger than `MAX_INTEGER`, or less than its negative.
    """
    for value in parameters.values():
        for number in value if isinstance(value, list | tuple) else [value]:
            if isinstance(number, int) and abs(number) > MAX_INTEGER:
                raise typer.BadParameter(
                    f"{number} must lie between −{MAX_INTEGER:,} and {MAX_INTEGER:,}. "
                    "Correct it."
                )


class CommandGroup(typer.Typer):
    """A group whose commands set up logging and NumPy before they run."""

    def __init__(self, name: str, help: str, **options: Any) -> None:  # noqa: A002 - Typer's name
        """Creates a group that shows its help when it is called without a command."""
        super().__init__(name=name, help=help, **{"no_args_is_help": True} | options)

    def command(  # type: ignore[override] # `cls` is ours
        self, name: str | None = None, **options: Any
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Adds a command, as `typer.Typer.command` does."""
        return super().command(name, cls=Command, **options)
