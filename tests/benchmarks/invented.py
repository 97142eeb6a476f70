"""Panels of any size, in no time: shapes matter here, demand does not."""

from datetime import date

import numpy as np

from forecaster.calendar import Calendar
from forecaster.panel import Panel

START = date(2024, 1, 1)
CITIES = ("Delft", "Ghent", "Lille")
WEEK = np.array([1.0, 1.1, 1.05, 1.2, 1.4, 0.7, 0.5])
AHEAD = 21


def invented_panel(n_depots: int, n_days: int, seed: int = 0) -> Panel:
    """Weekly waves with noise; ten holidays a year, one calendar per city."""
    rng = np.random.default_rng(seed)
    level_d1 = rng.lognormal(5, 0.8, n_depots)[:, None]
    noise_dt = rng.lognormal(0, 0.1, (n_depots, n_days)).astype(np.float32)
    demand_dt = np.round(level_d1 * WEEK[np.arange(n_days) % 7] * noise_dt)
    group_d = np.arange(n_depots) % len(CITIES)
    active_gtk = np.zeros((len(CITIES), n_days + AHEAD, 1), bool)
    active_gtk[:, ::36] = True
    return Panel(
        depot_ids=tuple(f"D{number}" for number in range(n_depots)),
        cities=tuple(CITIES[group] for group in group_d),
        start_on=START,
        demand_dt=demand_dt.astype(np.float32),
        closed_dt=np.zeros((n_depots, n_days + AHEAD), bool),
        calendar=Calendar(("holiday",), active_gtk, group_d),
    )
