"""The files of a simulated month, and the demand that they add up to."""

from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

FIRST_NIGHT = date(2024, 5, 31)
"""The origin of the first night: the last day of the history it begins with."""
NIGHTS = 30
HISTORY_DAYS = 150
DEPOTS = {"A0": "Delft", "A1": "Delft", "A2": "Delft", "B0": "Ghent", "B1": "Ghent"}
SHAPE = (50, 55, 52, 60, 70, 35, 25)

# Nights by number, and days by the night whose origin they are; night 0 brings the history.
LATE_FILE_NIGHT, LATE_DEPOT = 5, "B0"
CORRECTED_DAY, CORRECTED_NIGHT, CORRECTED_DEPOT = 7, 12, "A1"
NEW_NIGHT, NEW_DEPOT = 9, "B2"
CLOSURE_ANNOUNCED_NIGHT, CLOSED_DAYS, CLOSED_DEPOT = 13, (15, 16), "A2"

DailyCounts = dict[tuple[str, date], int]


def origin_of(night: int) -> date:
    """The origin of a night."""
    return FIRST_NIGHT + timedelta(days=night)


@dataclass
class Inbox:
    """Writes the files of each night, and keeps the demand that they add up to."""

    folder: Path
    expected_demand: DailyCounts = field(default_factory=dict)

    def add_files_before(self, night: int) -> None:
        """Writes the files that arrive before a night."""
        if night == 0:
            self._begin()
            return
        day = origin_of(night)
        late = {LATE_DEPOT} if night == LATE_FILE_NIGHT else set()
        self._counts(f"of-{day}.csv", [day], set(self._open_on(night)) - late)
        if night == CORRECTED_NIGHT:
            self._correct(origin_of(CORRECTED_DAY))
        if night == NEW_NIGHT:
            self._depots(f"new-{day}.csv", {NEW_DEPOT: "Ghent"})
        if night == CLOSURE_ANNOUNCED_NIGHT:
            self._close()

    def add_late_files(self, night: int) -> bool:
        """Writes the files that arrive after a night; returns whether there are any."""
        if night != LATE_FILE_NIGHT:
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
        counts = {
            (depot, day): usual_orders(depot, day) for depot in depots for day in days
        }
        self._daily(name, counts)

    def _correct(self, day: date) -> None:
        corrected = 3 * usual_orders(CORRECTED_DEPOT, day)
        self._daily("of-correction.csv", {(CORRECTED_DEPOT, day): corrected})

    def _daily(self, name: str, counts: DailyCounts) -> None:
        self.expected_demand |= counts
        rows = [f"{depot},{day},{orders}" for (depot, day), orders in counts.items()]
        self._write(name, "depot_id,date,orders", sorted(rows))

    def _close(self) -> None:
        first, last = (origin_of(night) for night in CLOSED_DAYS)
        row = f"closed,{first},{last},{CLOSED_DEPOT}"
        self._write("events.csv", "kind,starts_on,ends_on,depot_id", [row])

    def _write(self, name: str, header: str, rows: list[str]) -> None:
        (self.folder / name).write_text("\n".join([header, *rows, ""]))


def usual_orders(depot: str, day: date) -> int:
    """Orders of a depot on a day: a weekly pattern with pseudo-random noise."""
    level = 1 + sum(map(ord, depot)) % 5
    return SHAPE[day.weekday()] * level + day.toordinal() * 7919 % 11
