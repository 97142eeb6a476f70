"""Vans that move between depots for a day."""

import pytest

from dashboard.planning.transfers import POOL, Transfer, transfers


@pytest.mark.parametrize(
    ("own", "assigned", "expected"),
    [
        pytest.param({"A": 3, "B": 3}, {"A": 2, "B": 3}, [], id="enough at home"),
        pytest.param(
            {"A": 3, "B": 3}, {"A": 2, "B": 4}, [Transfer(1, "A", "B")], id="one van"
        ),
        pytest.param(
            {"A": 5, "B": 9, "C": 1},
            {"A": 4, "B": 6, "C": 5},
            [Transfer(3, "B", "C"), Transfer(1, "A", "C")],
            id="the one with most to spare gives first",
        ),
        pytest.param(
            {"A": 2, "B": 2},
            {"A": 2, "B": 4},
            [Transfer(2, POOL, "B")],
            id="hired vans",
        ),
        pytest.param({"A": 2}, {"A": 2, "X": 4}, [], id="a depot without a number"),
        pytest.param(
            {"A": 5, "B": 4, "C": 0, "D": 0},
            {"A": 3, "B": 2, "C": 2, "D": 2},
            [Transfer(2, "A", "C"), Transfer(2, "B", "D")],
            id="whole lots",
        ),
    ],
)
def test_vans_move_from_who_has_more_than_their_share(own, assigned, expected):
    assert transfers(own, assigned) == expected


def test_after_the_moves_every_depot_has_its_share(rng):
    for _ in range(50):
        own = {f"D{n}": int(n_vans) for n, n_vans in enumerate(rng.integers(0, 9, 8))}
        assigned = {f"D{n}": int(vans) for n, vans in enumerate(rng.integers(0, 6, 8))}
        after = dict(own)
        for move in transfers(own, assigned):
            after[move.to_depot] += move.vans
            if move.from_depot != POOL:
                after[move.from_depot] -= move.vans
                assert after[move.from_depot] >= assigned[move.from_depot]
        assert all(after[depot] >= assigned[depot] for depot in own)
