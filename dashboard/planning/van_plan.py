"""The plan of the fleet as pages show it, with or without changes, and transfers of vans."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from dashboard import queries
from dashboard.planning import city_settings
from dashboard.queries.freshness import Freshness
from forecaster.errors import ArtefactError
from forecaster.inference.paths import PathTable
from pipelines.planning.days_ahead import city_bands
from pipelines.planning.van_plan import QUANTILES, Changes, Plan, Settings, make_plan

POOL = "hired or city's own"
"""Lender's name for vans of no depot: hired ones, or a city's vans beyond its depots' own."""


def fleet_plan(freshness: Freshness) -> Plan:
    """The plan of the whole fleet with its saved settings; requires a forecast."""
    return _fleet_plan(freshness, changes_of_today(freshness))


@st.cache_data(max_entries=4, show_spinner=False)
def _fleet_plan(freshness: Freshness, changes: Changes) -> Plan:
    return plan_of(queries.fleet_week(freshness), freshness, changes=changes)


def changes_of_today(freshness: Freshness) -> dict[tuple[str, pd.Timestamp], float]:
    """Of each running city: its estimated orders minus the planned ones."""
    running = queries.running_cities(queries.clock(), freshness)
    change = running["estimate"] - running["forecast"]
    keys = zip(running["city"], running["target_on"], strict=True)
    return dict(zip(keys, change, strict=True))


def plan_of(
    week: pd.DataFrame,
    freshness: Freshness,
    changed: Settings | None = None,
    changes: Changes | None = None,
) -> Plan:
    """The plan of some rows of `queries.fleet_week`; `changes` are by default those of today."""
    return make_plan(
        week,
        {**city_settings.by_city(freshness), **(changed or {})},
        city_bands(queries.fleet_week(freshness)),
        errors_to_replay(freshness),
        queries.city_shares(freshness),
        changes_of_today(freshness) if changes is None else changes,
    )


def errors_to_replay(freshness: Freshness) -> PathTable | None:
    """Last year's errors in the artefact that made the forecast; None if it cannot be loaded."""
    try:
        return queries.load_model(freshness).paths
    except ArtefactError:
        return None


def city_plan(city: str, freshness: Freshness) -> Plan:
    """The plan of one city, as `fleet_plan` has it."""
    return fleet_plan(freshness).of_city(city)


def with_changes(
    week: pd.DataFrame, orders: Mapping[tuple[str, pd.Timestamp], float]
) -> pd.DataFrame:
    """The week with the planned numbers in `orders`, and the model's quantiles scaled to them."""
    keys = zip(week["depot_id"], week["target_on"], strict=True)
    number_r = np.array([orders.get(key, np.nan) for key in keys], float)
    median_r = week["model_p50"].to_numpy(float)
    ratio_r = np.divide(
        number_r, median_r, out=np.full_like(number_r, np.nan), where=median_r > 0
    )
    is_models = number_r == week["model_point"].to_numpy(float)
    # A number equal to the model's keeps its quantiles, as in `pipelines.schema.planned_orders`.
    ratio_r[is_models] = 1.0
    is_new = ~np.isnan(number_r)
    part_r = np.where(is_models, week["model_part"], number_r)
    moved = {
        "point": np.where(is_new, number_r, week["point"]),
        "part": np.where(is_new, part_r, week["part"]),
    }
    for name in QUANTILES:
        scaled_r = week[f"model_{name}"].to_numpy(float) * ratio_r
        shifted_r = np.where(np.isnan(ratio_r), number_r, scaled_r)
        moved[name] = np.where(is_new, shifted_r, week[name])
    return week.assign(**moved)


@dataclass(frozen=True)
class Transfer:
    """Vans that one depot lends another for a day; `from_depot` may be `POOL`."""

    vans: int
    from_depot: str
    to_depot: str


def transfers_by_day(depots: pd.DataFrame) -> dict[pd.Timestamp, list[Transfer]]:
    """The vans that move between the depots of a city, by day, with the depots' names."""
    moves = {}
    for day, rows in depots.groupby("target_on"):
        # Depots whose own vans are not known are left out.
        known = rows[rows["vans"].notna()]
        spare = (known["vans"] - known["allocated"]).astype(int).to_numpy()
        moves[pd.Timestamp(str(day))] = _transfers(known["name"].to_list(), spare)
    return moves


def _transfers(names: Sequence[str], spare: np.ndarray) -> list[Transfer]:
    """Matches depots with vans to spare to depots that lack them, largest first.

    Greedy: it keeps the number of moves low, but not always at its minimum.
    """
    left, moves = spare.copy(), []
    for to in np.argsort(spare, kind="stable"):
        while left[to] < 0:
            giver = int(np.argmax(left))
            is_pool = left[giver] <= 0
            vans = int(-left[to] if is_pool else min(-left[to], left[giver]))
            moves.append(Transfer(vans, POOL if is_pool else names[giver], names[to]))
            left[to] += vans
            if not is_pool:
                left[giver] -= vans
    return moves
