"""Panels of any size and networks to serve them, in no time: shapes matter here alone."""

from datetime import date

import numpy as np

from forecaster.config import ModelConfig, TaskConfig, TrainConfig
from forecaster.data.calendar import Calendar
from forecaster.data.panel import Panel
from forecaster.inference.artefact import Artefact
from tests.make import make_artefact

START = date(2024, 1, 1)
CITIES = ("Delft", "Ghent", "Lille")
WEEK = np.array([1.0, 1.1, 1.05, 1.2, 1.4, 0.7, 0.5], np.float32)
AHEAD = 21


def invented_panel(
    n_depots: int, n_days: int, seed: int = 0, ahead: int = AHEAD
) -> Panel:
    """Weekly waves with noise; ten holidays a year, one calendar per city."""
    rng = np.random.default_rng(seed)
    level_d1 = rng.lognormal(5, 0.8, n_depots).astype(np.float32)[:, None]
    demand_dt = rng.standard_normal((n_depots, n_days), np.float32)
    # In place: the memory of serving is measured in the process that makes the panel.
    demand_dt *= np.float32(0.1)
    np.exp(demand_dt, out=demand_dt)
    demand_dt *= level_d1
    demand_dt *= WEEK[np.arange(n_days) % 7]
    np.round(demand_dt, out=demand_dt)
    group_d = np.arange(n_depots) % len(CITIES)
    active_gtk = np.zeros((len(CITIES), n_days + ahead, 1), bool)
    active_gtk[:, ::36] = True
    return Panel(
        depot_ids=tuple(f"D{number}" for number in range(n_depots)),
        cities=tuple(CITIES[group] for group in group_d),
        start_on=START,
        demand_dt=demand_dt,
        closed_dt=np.zeros((n_depots, n_days + ahead), bool),
        calendar=Calendar(("holiday",), active_gtk, group_d),
    )


def invented_artefact(panel: Panel) -> Artefact:
    """Of the size that training gives by default, knowing every depot by name."""
    return make_artefact(
        panel,
        context=TaskConfig().context,
        model=ModelConfig(),
        members=TrainConfig().members,
    )
