"""`harbor doctor`: checks what is installed, reachable, stale or wrong."""

from dataclasses import dataclass

import typer

from pipelines.cli.console import echo, show_json, show_table
from pipelines.cli.context import AsJson


@dataclass(frozen=True)
class Finding:
    """Result of one check: its name, whether it passed, and a message with advice if not."""

    check: str
    ok: bool
    message: str


def doctor(as_json: AsJson = False) -> None:
    """Checks everything the program needs, and says how to correct what is wrong.

    Example: `harbor doctor`
    """
    from pipelines.cli.doctor_findings import find_all
    from pipelines.settings import Settings

    findings = find_all(Settings.load())
    if as_json:
        show_json([vars(finding) for finding in findings])
    else:
        rows = [
            ("ok" if finding.ok else "WARN", finding.check, finding.message)
            for finding in findings
        ]
        show_table("", ("", "check", "finding"), rows)
    if not all(finding.ok for finding in findings):
        echo("Lines marked WARN need attention.")
        raise typer.Exit(1)
