"""A city's shifts as a planner writes them; no I/O."""

import re
from dataclasses import dataclass

from forecaster.hours.day_shape import HOURS

DEFAULT_SHIFTS = "06-14, 14-22"
SHIFT = re.compile(r"(\d{1,2})\s*[-–]\s*(\d{1,2})")
MAX_SHIFTS = 4
MAX_LENGTH = 100
"""Characters of all shifts, as in the table `city_settings`."""
RULE = (
    f"Shifts are hours such as “{DEFAULT_SHIFTS}”, with a comma between them, at most {MAX_SHIFTS} and none twice, each with a "
    "first hour from 0 to 23 and an end from 1 to 24."
)


@dataclass(frozen=True)
class Shift:
    """Hours of a city's day, from `first` to `end` (exclusive); past midnight if end ≤ first."""

    first: int
    end: int

    @property
    def name(self) -> str:
        """'06–14'."""
        return f"{self.first:02d}–{self.end:02d}"

    @property
    def n_hours(self) -> int:
        """Length of the shift."""
        return (self.end - self.first - 1) % HOURS + 1

    def has(self, hour: int) -> bool:
        """Whether an hour of the day lies in the shift."""
        return (hour - self.first) % HOURS < self.n_hours


def parse(text: str) -> list[Shift]:
    """Parses shifts and sorts them by time; none if the text breaks the `RULE`."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    matches = [SHIFT.fullmatch(part) for part in parts]
    numbers = [(int(m[1]), int(m[2])) for m in matches if m is not None]
    is_right = all(first < HOURS and 1 <= end <= HOURS for first, end in numbers)
    is_right &= len(set(numbers)) == len(numbers)
    if len(numbers) != len(parts) or len(parts) > MAX_SHIFTS or not is_right:
        return []
    return [Shift(*each) for each in sorted(numbers)]


def is_valid(text: str) -> bool:
    """Whether a planner may save the text; an empty one removes the shifts."""
    return not text.strip() or (len(text) <= MAX_LENGTH and bool(parse(text)))
