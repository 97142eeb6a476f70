"""What comes into the inbox on the mornings of a month, and what is true in the end."""

from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

FIRST_NIGHT = date(2024, 5, 31)
"""The origin of the first night: the last day of the history it begins with."""
NIGHTS = 30
HISTORY_DAYS = 150
DEPOTS = {"A0": "Delft", "A1": "Delft", "A2": "Delft", "B0": "Ghent", "B1": "Ghent"}
SHAPE = (50, 55, 52, 60, 70, 35, 25)

# Days of the month by number; night 0 is that of the history.
LATE_NIGHT, LATE_DEPOT = 5, "B0"
CORRECTED_DAY, CORRECTED_NIGHT, CORRECTED_DEPOT = 7, 12, "A1"
NEW_NIGHT, NEW_DEPOT = 9, "B2"
CLOSURE_TOLD, CLOSED_DAYS, CLOSED_DEPOT = 13, (15, 16), "A2"

Counts = dict[tuple[str, date], int]


def origin_of(night: int) -> date:
    """The last day that a night sees."""
    return FIRST_NIGHT + timedelta(days=night)


@dataclass
class Inbox:
    """Where the files of each night appear, and what they come to."""

    folder: Path
    truth: Counts = field(default_factory=dict)

    def before(self, night: int) -> None:
        """What a night finds that was not there the night before."""
        if night == 0:
            self._begin()
            return
        day = origin_of(night)
        late = {LATE_DEPOT} if night == LATE_NIGHT else set()
        self._counts(f"of-{day}.csv", [day], set(self._open_on(night)) - late)
        if night == CORRECTED_NIGHT:
            self._correct(origin_of(CORRECTED_DAY))
        if night == NEW_NIGHT:
            self._depots(f"new-{day}.csv", {NEW_DEPOT: "Ghent"})
        if night == CLOSURE_TOLD:
            self._close()

    def after(self, night: int) -> bool:
        """What comes when the night is over; whether anything did."""
        if night != LATE_NIGHT:
            return False
        self._counts("of-late.csv", [origin_of(night)], {LATE_DEPOT})
        return True

    def _begin(self) -> None:
        self.folder.mkdir(parents=True)
        self._depots("depots.csv", DEPOTS)
        days = [FIRST_NIGHT - timedelta(days=ago) for ago in range(HISTORY_DAYS)]
        self._counts("history.csv", days, set(DEPOTS))

    def _open_on(self, night: int) -> list[str]:
        return [*DEPOTS, NEW_DEPOT] if night >= NEW_NIGHT else [*DEPOTS]

    def _depots(self, name: str, cities: dict[str, str]) -> None:
        rows = [f"{each},{each},{city},UTC,NL," for each, city in cities.items()]
        self._write(name, "depot_id,name,city,timezone,country,subdivision", rows)

    def _counts(self, name: str, days: list[date], depots: set[str]) -> None:
        counts = {(depot, day): usual(depot, day) for depot in depots for day in days}
        self._daily(name, counts)

    def _correct(self, day: date) -> None:
        corrected = 3 * usual(CORRECTED_DEPOT, day)
        self._daily("of-correction.csv", {(CORRECTED_DEPOT, day): corrected})

    def _daily(self, name: str, counts: Counts) -> None:
        self.truth |= counts
        rows = [f"{depot},{day},{orders}" for (depot, day), orders in counts.items()]
        self._write(name, "depot_id,date,orders", sorted(rows))

    def _close(self) -> None:
        first, last = (origin_of(night) for night in CLOSED_DAYS)
        row = f"closed,{first},{last},{CLOSED_DEPOT}"
        self._write("events.csv", "kind,starts_on,ends_on,depot_id", [row])

    def _write(self, name: str, header: str, rows: list[str]) -> None:
        (self.folder / name).write_text("\n".join([header, *rows, ""]))


def usual(depot: str, day: date) -> int:
    """Orders of a depot on a day: a week's wave, and a little that looks like chance."""
    level = 1 + sum(map(ord, depot)) % 5
    return SHAPE[day.weekday()] * level + day.toordinal() * 7919 % 11
