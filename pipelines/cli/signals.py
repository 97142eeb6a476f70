"""`harbor signals`: lists the numbers known in advance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.cli.command_group import CommandGroup
from pipelines.cli.console import show_list
from pipelines.cli.context import AsJson, open_context

if TYPE_CHECKING:
    from pipelines.store.signal_summaries import SignalSummary

app = CommandGroup("signals", "Numbers known in advance.")


@app.command("list")
def list_signals(as_json: AsJson = False) -> None:
    """Lists every signal: where and for which days it has values, and what is missing.

    Missing are values of the days ahead, at depots and cities that had one in the last
    28 days. They are not guessed: load a file of signals that has them. To take values
    back, withdraw their file by `harbor files withdraw`.

    Example: `harbor signals list`
    """
    from pipelines.store import demand
    from pipelines.store.signal_summaries import summaries

    with open_context() as context, context.engine.connect() as connection:
        newest_on = demand.last_day(connection)
        signals = summaries(connection, newest_on, context.settings.horizon)
    empty = "There are no signals."
    show_list("Signals", signals, _row, as_json=as_json, empty=empty)


def _row(summary: SignalSummary) -> dict[str, object]:
    return {
        "signal": summary.signal,
        "values": summary.days,
        "depots": summary.depots,
        "cities": summary.cities,
        "from": str(summary.first_on),
        "to": str(summary.last_on),
        "missing ahead": f"{summary.missing:,}, from {summary.first_missing_on}"
        if summary.missing
        else "none",
    }
