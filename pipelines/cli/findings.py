"""A finding of `harbor doctor`, and a message that it shares with `harbor forecast`."""

from collections.abc import Sequence
from dataclasses import dataclass

from forecaster.errors import shortened_list


@dataclass(frozen=True)
class Finding:
    """Result of one check: its name, whether it passed, and a message with advice if not."""

    check: str
    ok: bool
    message: str


def not_started_depots(depot_ids: Sequence[str]) -> str:
    """Lists depots that forecasts leave out, with the reason and advice."""
    return (
        f"{shortened_list(depot_ids)}; they have no orders yet and no opened_on. Give those "
        "that will open an opened_on in a depots file, and load it with 'harbor ingest'"
    )
