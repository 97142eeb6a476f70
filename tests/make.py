"""Small builders for tests: a panel, a recipe, an artefact."""

from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd

from forecaster.config import ModelConfig, TaskConfig
from forecaster.data import effects, inputs
from forecaster.data.baseline import BaselineResiduals
from forecaster.data.calendar_effects import CalendarEffects
from forecaster.data.calendar_features import SEASON_COLUMNS, column_names
from forecaster.data.effect_columns import effect_columns
from forecaster.data.effects import Effects
from forecaster.data.features import choose_kinds
from forecaster.data.panel import Panel
from forecaster.data.panel_builder import build_panel
from forecaster.data.signal_effects import no_signals
from forecaster.inference import paths, totals
from forecaster.inference.artefact import Artefact
from forecaster.inference.intervals import IntervalTable

START = date(2024, 1, 1)  # a Monday
MEMBERS = 2
SMALL = ModelConfig(units=5, head_units=6)


def make_depots(n_depots: int = 4, **columns: object) -> pd.DataFrame:
    """Depots D0, D1, … of two cities."""
    rows = {
        "depot_id": [f"D{number}" for number in range(n_depots)],
        "city": ["Ghent" if number % 2 else "Delft" for number in range(n_depots)],
        "country": ["NL"] * n_depots,
        "subdivision": [None] * n_depots,
        "opened_on": [None] * n_depots,
        "closed_on": [None] * n_depots,
        "closed_weekdays": [[] for _ in range(n_depots)],
    }
    return pd.DataFrame({**rows, **columns})


def make_demand(n_depots: int = 4, n_days: int = 120, seed: int = 0) -> pd.DataFrame:
    """Weekly waves at a level of the depot's own, with noise."""
    rng = np.random.default_rng(seed)
    level = np.linspace(50, 400, n_depots)[:, None]
    weekday = (START.weekday() + np.arange(n_days)) % 7
    shape = np.array([1.0, 1.1, 1.05, 1.2, 1.4, 0.7, 0.5])[weekday]
    orders = np.round(level * shape * rng.lognormal(0, 0.08, (n_depots, n_days)))
    days = [START + timedelta(days=step) for step in range(n_days)]
    return pd.DataFrame(
        {
            "depot_id": np.repeat([f"D{n}" for n in range(n_depots)], n_days),
            "service_on": days * n_depots,
            "orders": orders.ravel(),
        }
    )


def make_events(*rows: tuple[object, ...]) -> pd.DataFrame:
    """Events from (kind, starts_on, ends_on, city, depot_id, known_from)."""
    columns = ("kind", "starts_on", "ends_on", "city", "depot_id", "known_from")
    return pd.DataFrame(list(rows), columns=list(columns)).assign(value=None)


def make_signals(*rows: tuple[object, ...]) -> pd.DataFrame:
    """Signals from (signal, depot_id, city, day_on, value, known_from)."""
    columns = ("signal", "depot_id", "city", "day_on", "value", "known_from")
    return pd.DataFrame(list(rows), columns=list(columns))


def make_holidays(*rows: tuple[date, str], country: str = "NL") -> pd.DataFrame:
    """Public holidays of one country."""
    return pd.DataFrame(
        [(country, "", day, name) for day, name in rows],
        columns=["country", "subdivision", "day_on", "name"],
    )


def make_panel(
    n_depots: int = 4, n_days: int = 120, ahead: int = 14, seed: int = 0, **tables: Any
) -> Panel:
    """A small fleet without holidays or events; the tables of `build_panel` replace its own."""
    own = {
        "depots": make_depots(n_depots),
        "demand": make_demand(n_depots, n_days, seed),
        "events": make_events(),
        "holidays": make_holidays(),
        "through": START + timedelta(days=n_days - 1),
    }
    return build_panel(**own | tables, ahead=ahead)


def make_residuals(panel: Panel) -> BaselineResiduals:
    """Residuals of the baseline where the calendar has no effects."""
    return BaselineResiduals.from_panel(panel, effects.no_effects(panel)[..., 0])


def make_artefact(
    panel: Panel,
    horizon: int = 7,
    context: int = 28,
    seed: int = 0,
    model: ModelConfig = SMALL,
    members: int = MEMBERS,
) -> Artefact:
    """An artefact with random weights that fits the panel; its version is its own."""
    kinds = choose_kinds(panel.calendar, panel.n_steps)
    names = column_names(kinds)
    rng = np.random.default_rng(seed)
    shapes = _shapes(len(names), horizon, model, panel.n_depots)
    weights = {
        name: rng.normal(0, 0.1, (members, *shape)).astype(np.float32)
        for name, shape in shapes.items()
    }
    one = np.ones(horizon, np.float32)
    return Artefact(
        task=TaskConfig(horizon, context),
        model=model,
        weights=weights,
        network_share=1.0,
        intervals=IntervalTable(-one, one),
        totals=totals.prior_table(),
        paths=paths.no_history(horizon),
        effects=no_effects(panel),
        depot_ids=panel.depot_ids,
        kinds=kinds,
        feature_names=inputs.column_names(kinds),
        trained_through=panel.origin,
        data_watermark="made for a test",
        seed=seed,
        epochs=1,
        versions={"numpy": "any"},
        parity_error=0.0,
    )


def no_effects(panel: Panel) -> Effects:
    """Effects of a calendar that changes nothing, and no signals."""
    n_columns = len(effect_columns(panel, ()).names)
    nothing = np.zeros((0, n_columns), np.float32)
    fleet_f = np.zeros(n_columns, np.float32)
    known_ff = np.zeros((n_columns, n_columns), np.float32)
    calendar = CalendarEffects((), fleet_f, (), nothing, (), nothing, known_ff)
    return Effects(calendar, no_signals())


def _shapes(
    n_calendar: int, horizon: int, model: ModelConfig, n_depots: int
) -> dict[str, tuple[int, ...]]:
    """Of the weights of one member, by name."""
    units, width = model.units, model.head_units
    n_past, n_future = len(inputs.PAST_COLUMNS), len(inputs.FUTURE_COLUMNS)
    shapes: dict[str, tuple[int, ...]] = {
        "calendar/kernel": (n_calendar, width),
        "calendar/bias": (width,),
        "origin/kernel": (units + n_past, horizon, width),
        "origin/bias": (horizon, width),
        "target/kernel": (n_future, width),
        "depots/embedding": (n_depots + 1, model.embedding_units),
        "gain/kernel": (model.embedding_units, width),
        "own/kernel": (model.embedding_units, width),
        "answer/kernel": (n_calendar - SEASON_COLUMNS, width),
        "mix/kernel": (width, width),
        "mix/bias": (width,),
        "correction/kernel": (width, 1),
        "correction/bias": (1,),
    }
    for name, n_in in (("gru_1", n_past + width), ("gru_2", units)):
        for gate in "rzn":
            shapes[f"{name}/i{gate}/kernel"] = (n_in, units)
            shapes[f"{name}/i{gate}/bias"] = (units,)
            shapes[f"{name}/h{gate}/kernel"] = (units, units)
        shapes[f"{name}/hn/bias"] = (units,)
    return shapes
