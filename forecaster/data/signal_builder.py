"""Builds the signals of a panel from tidy rows; separate because serving must not import pandas."""

from datetime import date

import numpy as np
import pandas as pd
from jaxtyping import Int

from forecaster.data.signals import FAR_STEPS, Signals, SignalValues


def known_signals(
    depots: pd.DataFrame,
    signals: pd.DataFrame,
    start_on: date,
    n_steps: int,
    ahead: int,
) -> Signals | None:
    """Builds the signals of a panel, as known at its origin.

    Args:
      depots: depot_id, city; sets the order of depots.
      signals: signal, depot_id or city, day_on, value, known_from (first origin that
        knows the value; missing: every origin). The value of a day with the
        latest known_from is used. Optional: corrected_from (first origin that knows this
        version, where it is a correction) and known_until (first origin for which a
        newer version replaces it).
      start_on: Day of step 0.
      n_steps: Number of steps up to the origin.
      ahead: Number of steps after it.

    Returns:
      None if no value for these depots and days was known.
    """
    depot_ids, cities = pd.Index(depots["depot_id"]), pd.Index(depots["city"].unique())
    rows = signals.assign(
        place=_places(signals, depot_ids, cities),
        step=_steps(signals, "day_on", start_on, missing=-1),
        announced=_steps(signals, "known_from", start_on, missing=-FAR_STEPS),
        corrected=_steps(signals, "corrected_from", start_on, missing=-FAR_STEPS),
        until=_steps(signals, "known_until", start_on, missing=FAR_STEPS),
    )
    rows = rows[(rows["place"] >= 0) & rows["step"].between(0, n_steps + ahead - 1)]
    names = tuple(sorted(set(rows["signal"])))
    city_d = len(depot_ids) + cities.get_indexer(depots["city"])
    known = Signals(
        names=names,
        n_steps=n_steps + ahead,
        n_places=len(depot_ids) + len(cities),
        place_dp=np.stack([np.arange(len(depot_ids)), city_d], axis=1),
        values=_values(rows, names),
    ).as_of(n_steps - 1)
    return known if known.names else None


def _values(rows: pd.DataFrame, names: tuple[str, ...]) -> SignalValues:
    rows = rows.sort_values("announced", kind="stable")
    known = rows[["announced", "corrected"]].max(axis=1)
    return SignalValues(
        signal_r=pd.Index(names).get_indexer(pd.Index(rows["signal"])),
        place_r=rows["place"].to_numpy(np.int32),
        step_r=rows["step"].to_numpy(np.int32),
        known_r=known.to_numpy(np.int32),
        until_r=rows["until"].to_numpy(np.int32),
        value_r=rows["value"].to_numpy(np.float32),
    )


def _places(
    signals: pd.DataFrame, depot_ids: pd.Index, cities: pd.Index
) -> Int[np.ndarray, " row"]:
    """Place numbers of the rows: depots from 0, then cities; -1 for a place not in the panel."""
    city_r = cities.get_indexer(pd.Index(signals["city"]))
    city_r = np.where(city_r < 0, -1, len(depot_ids) + city_r)
    depot_r = depot_ids.get_indexer(pd.Index(signals["depot_id"]))
    return np.where(signals["depot_id"].notna(), depot_r, city_r)


def _steps(
    signals: pd.DataFrame, column: str, start_on: date, missing: int
) -> Int[np.ndarray, " row"]:
    if column not in signals:
        return np.full(len(signals), missing)
    days = pd.to_datetime(signals[column]) - pd.Timestamp(start_on)
    return days.dt.days.fillna(missing).to_numpy(int)
