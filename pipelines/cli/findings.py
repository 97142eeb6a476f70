"""A finding of `harbor doctor`, and words that it shares with commands."""

from collections.abc import Sequence
from dataclasses import dataclass

from forecaster.errors import shortened_list


@dataclass(frozen=True)
class Finding:
    """One thing that was checked: its name, whether it is good, and what to do if not."""

    check: str
    ok: bool
    message: str


def not_started_depots(depot_ids: Sequence[str]) -> str:
    """Names depots that forecasts leave out, and says what to do about them."""
    return (
        f"{shortened_list(depot_ids)}; they have no orders yet and no opened_on. Give those "
        "that will open an opened_on in a depots file, and load it with 'harbor ingest'"
    )
