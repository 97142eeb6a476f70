"""What a planner types for a number."""

import pytest

from dashboard.planning import adjustments
from dashboard.planning.adjustments import Adjustment


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("420", Adjustment(orders=420)),
        (" 1,240 ", Adjustment(orders=1240)),
        ("12 400", Adjustment(orders=12400)),
        ("0", Adjustment(orders=0)),
        ("+10 %", Adjustment(factor=1.1)),
        ("+10%", Adjustment(factor=1.1)),
        ("-5%", Adjustment(factor=0.95)),
        ("−2.5 %", Adjustment(factor=0.975)),
        ("-100 %", Adjustment(factor=0.0)),
    ],
)
def test_a_number_and_a_percentage_are_understood(typed, expected):
    assert adjustments.parse(typed) == expected


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "lots",
        "-5",
        "+5",
        "4.2",
        "10 %",
        "-101 %",
        "1,24",
        "1e9",
        "42o",
        "٤٢٠x",
        "+10,000 %",
    ],
)
def test_nothing_else_is_taken_for_a_number(typed):
    assert adjustments.parse(typed) is None


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", "The new number is missing. Write"),
        ("abc", "“abc” is no number of orders. Write a number of orders such as 420"),
        ("10%", "“10%” has no sign. Do you mean +10 % or −10 %?"),
        ("2.5 %", "Do you mean +2.5 % or −2.5 %?"),
        ("+10", "“+10” has a sign. Write +10 % for a change, or a number of orders"),
        ("-5", "Write −5 % for a change"),
        ("1.234", "“1.234” is no whole number of orders. Write whole orders"),
        ("1,24", "is no whole number of orders"),
        ("-150 %", "“-150 %” is less than −100 %"),
        ("+10,000 %", "“+10,000 %” has too many decimals, or is too large"),
        ("420", ""),
        ("+10 %", ""),
    ],
)
def test_a_number_that_is_not_understood_is_told_the_rule_it_breaks(typed, expected):
    problem = adjustments.problem(typed)
    assert expected in problem
    assert bool(problem) == bool(expected)
