"""Signals: numbers known in advance of a day, such as the orders already booked for it.

A day's values known a week ahead and a day ahead are both stored, so that no past origin sees a
number that became known after it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from jaxtyping import Float32, Int

FAR_STEPS = 1_000_000
"""Beyond any step of a panel: -FAR_STEPS means always known, FAR_STEPS never replaced."""


@dataclass(frozen=True)
class SignalValues:
    """Values in rows; if an origin knows two values of a day, the later row is used.

    Attributes:
      signal_r: Position of the signal in the names.
      place_r: A depot or a city, by number.
      step_r: Step of the day.
      known_r: First origin that knows the value, as a step; may lie before step 0.
      until_r: First origin for which another value has replaced it.
      value_r: The value, in the unit of the files that it was loaded from.
    """

    signal_r: Int[np.ndarray, " row"]
    place_r: Int[np.ndarray, " row"]
    step_r: Int[np.ndarray, " row"]
    known_r: Int[np.ndarray, " row"]
    until_r: Int[np.ndarray, " row"]
    value_r: Float32[np.ndarray, " row"]

    def rows(self, chosen: np.ndarray) -> "SignalValues":
        """Returns the rows selected by a mask or by indices."""
        columns = {each.name: getattr(self, each.name)[chosen] for each in fields(self)}
        return SignalValues(**columns)


@dataclass(frozen=True)
class Signals:
    """The signals of a panel, as known at its origin.

    Attributes:
      names: Signals, in the order of the first axis.
      n_steps: Number of steps, including those after the origin.
      n_places: Number of places.
      place_dp: Places of the depot and of its city, whose value is used where the depot has
        none of its own; `n_places` for a place without values.
      values: Every value known at the origin, and the values that it replaced.
    """

    names: tuple[str, ...]
    n_steps: int
    n_places: int
    place_dp: Int[np.ndarray, "depot 2"]
    values: SignalValues

    def known_ahead(self, days: int) -> Float32[np.ndarray, "signal depot time"]:
        """Returns the value of each day as known `days` days before it; NaN where unknown.

        Days ahead have only values known by the panel's origin. A forecast of step `origin + h`
        from a panel as of that origin may therefore read that step of `known_ahead(h)`.
        """
        values = self.values
        origin_r = values.step_r - days
        known = values.rows((values.known_r <= origin_r) & (origin_r < values.until_r))
        shape = (len(self.names), self.n_places + 1, self.n_steps)
        value_spt = np.full(shape, np.nan, np.float32)
        # In the order of the rows, so that the last known value is kept.
        value_spt[known.signal_r, known.place_r, known.step_r] = known.value_r
        own_sdt, city_sdt = (value_spt[:, place_d] for place_d in self.place_dp.T)
        return np.where(np.isnan(own_sdt), city_sdt, own_sdt)

    def named(self, names: Sequence[str]) -> "Signals":
        """Returns exactly the named signals, in this order; an unknown one has no values."""
        number = np.array([_position(name, names) for name in self.names], int)
        signal_r = number[self.values.signal_r]
        values = replace(self.values, signal_r=signal_r).rows(signal_r >= 0)
        return replace(self, names=tuple(names), values=values)

    def as_of(self, step: int) -> "Signals":
        """Returns the signals as known at an origin's step; signals without values are left out."""
        known = self.values.rows(self.values.known_r <= step)
        # A replacement after the origin is not known either.
        until_r = np.where(known.until_r > step, FAR_STEPS, known.until_r)
        names = [self.names[number] for number in np.unique(known.signal_r)]
        return replace(self, values=replace(known, until_r=until_r)).named(names)

    def steps(self, first: int, end: int) -> "Signals":
        """Returns the signals of the steps from `first` to `end` (exclusive)."""
        values = self.values
        values = values.rows((values.step_r >= first) & (values.step_r < end))
        shifted = {
            name: getattr(values, name) - first
            for name in ("step_r", "known_r", "until_r")
        }
        return replace(self, n_steps=end - first, values=replace(values, **shifted))

    def of_depots(self, rows: slice | Int[np.ndarray, " some"]) -> "Signals":
        """Returns the signals of some of the depots."""
        place_dp = self.place_dp[rows]
        places = np.unique(place_dp[place_dp < self.n_places])
        number = np.full(self.n_places + 1, len(places))
        number[places] = np.arange(len(places))
        kept = np.isin(self.values.place_r, places)
        values = self.values.rows(kept)
        return replace(
            self,
            n_places=len(places),
            place_dp=number[place_dp],
            values=replace(values, place_r=number[values.place_r]),
        )


def _position(name: str, names: Sequence[str]) -> int:
    return names.index(name) if name in names else -1
