"""Vans that move between the depots of a city for a day."""

from collections.abc import Mapping
from dataclasses import dataclass

POOL = ""
"""Stands for vans of the city that belong to no depot."""


@dataclass(frozen=True)
class Transfer:
    """Vans that one depot lends another for a day; `giver` may be `POOL`."""

    vans: int
    giver: str
    receiver: str


def transfers(own: Mapping[str, int], assigned: Mapping[str, int]) -> list[Transfer]:
    """The fewest moves of vans from depots that have more than their share.

    Who has most to give gives first to who lacks most, so that few depots are involved.

    Args:
      own: Vans of each depot whose number is known.
      assigned: Vans assigned to each depot; one without a number of its own takes no part.
    """
    surplus = {d: own[d] - assigned[d] for d in own if own[d] > assigned[d]}
    lacking = {d: assigned[d] - own[d] for d in own if assigned[d] > own[d]}
    moves = []
    for receiver in sorted(lacking, key=lambda depot: (-lacking[depot], depot)):
        while lacking[receiver]:
            giver = min(
                surplus, key=lambda depot: (-surplus[depot], depot), default=POOL
            )
            vans = min(lacking[receiver], surplus.get(giver, lacking[receiver]))
            moves.append(Transfer(vans, giver, receiver))
            lacking[receiver] -= vans
            if giver != POOL:
                surplus[giver] -= vans
                surplus = {d: n for d, n in surplus.items() if n}
    return moves
