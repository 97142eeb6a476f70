"""Vans that move between the depots of a city for a day."""

from collections.abc import Mapping
from dataclasses import dataclass

POOL = "spare pool"
"""Stands for vans of the city that belong to no depot."""


@dataclass(frozen=True)
class Transfer:
    """Vans that one depot lends another for a day; `from_depot` may be `POOL`."""

    vans: int
    from_depot: str
    to_depot: str


def transfers(own: Mapping[str, int], assigned: Mapping[str, int]) -> list[Transfer]:
    """Matches depots with spare vans to depots that lack vans, largest first.

    Greedy: it keeps the number of moves low, but not always at its minimum.

    Args:
      own: Vans of each depot whose number is known.
      assigned: Vans assigned to each depot; one without a number of its own takes no part.
    """
    surplus = {d: own[d] - assigned[d] for d in own if own[d] > assigned[d]}
    lacking = {d: assigned[d] - own[d] for d in own if assigned[d] > own[d]}
    moves = []
    for to_depot in sorted(lacking, key=lambda depot: (-lacking[depot], depot)):
        while lacking[to_depot]:
            from_depot = min(
                surplus, key=lambda depot: (-surplus[depot], depot), default=POOL
            )
            vans = min(lacking[to_depot], surplus.get(from_depot, lacking[to_depot]))
            moves.append(Transfer(vans, from_depot, to_depot))
            lacking[to_depot] -= vans
            if from_depot in surplus:
                surplus[from_depot] -= vans
                surplus = {d: n for d, n in surplus.items() if n}
    return moves
