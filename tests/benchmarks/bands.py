"""How well 80 % bands hold, by kind of day."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from forecaster.backtest import BacktestForecasts, HoldoutSplit
from forecaster.data.panel import Panel
from forecaster.hours.day_shape import ORDINARY, SpecialDays
from forecaster.inference.totals import FLEET

if TYPE_CHECKING:
    from tests.benchmarks.cutoffs import ModelForecasts

KINDS = ("ordinary", "special", "beside")
"""Ordinary days, holidays and rare events, and the days beside these."""
LEVELS = ("depots", "cities", "fleet")


def kinds_of_days(panel: Panel, split: HoldoutSplit) -> np.ndarray:
    """The number of each held-out day's kind in `KINDS`: origin × depot × horizon."""
    special = SpecialDays.of(panel)
    of_origin = []
    for origin in split.origins:
        days = np.datetime64(origin) + np.arange(1, split.horizon + 1)
        is_special, *beside = (
            special.on(days + step) != ORDINARY for step in (0, -1, 1)
        )
        kind_dh = np.where(np.any(beside, axis=0), 2, 0)
        of_origin.append(np.where(is_special, 1, kind_dh))
    return np.stack(of_origin)


def band_counts(
    panel: Panel,
    split: HoldoutSplit,
    scored: BacktestForecasts,
    forecasts: "ModelForecasts",
) -> dict[str, int]:
    """Bands by level and kind of day, and those that held.

    A total has the kind of the most special of its depots; unknown counts of a depot are taken
    to be its forecast.
    """
    kind_odh = kinds_of_days(panel, split)
    counts: dict[str, int] = {}

    def add(level: str, kind: np.ndarray, inside: np.ndarray) -> None:
        for number, name in enumerate(KINDS):
            is_of = kind == number
            for what, found in (("n", is_of), ("in", is_of & inside)):
                key = f"{level} {name} {what}"
                counts[key] = counts.get(key, 0) + int(found.sum())

    actual_odh, high_odh = scored.actual_odh, scored.p90_odh
    is_open_odh = np.isfinite(actual_odh) & (high_odh > 0)
    inside_odh = (scored.p10_odh <= actual_odh) & (actual_odh <= high_odh)
    add("depots", np.where(is_open_odh, kind_odh, -1), inside_odh)
    if forecasts.total_onqh is None:
        return counts
    filled_odh = np.where(np.isfinite(actual_odh), actual_odh, scored.point_odh)
    for name, total_oqh in zip(
        forecasts.total_names, forecasts.total_onqh.swapaxes(0, 1), strict=True
    ):
        is_here_d = np.isin(panel.cities, name) | (name == FLEET)
        actual_oh = filled_odh[:, is_here_d].sum(axis=1)
        here_odh = kind_odh[:, is_here_d]
        kind_oh = np.where(
            (here_odh == 1).any(axis=1), 1, np.where((here_odh == 2).any(axis=1), 2, 0)
        )
        low_oh, _, high_oh = total_oqh.swapaxes(0, 1)
        inside_oh = (low_oh <= actual_oh) & (actual_oh <= high_oh)
        add("fleet" if name == FLEET else "cities", kind_oh, inside_oh)
    return counts


def report(rows: pd.DataFrame, model: str) -> str:
    """Coverage by length, level and kind of day."""
    own = rows[rows["model"] == model].fillna(0)
    if "depots ordinary n" not in own:
        return ""
    sums = own.select_dtypes("number").groupby(own["length"]).sum()
    sums.loc["all"] = sums.sum()
    table = pd.DataFrame(
        {
            f"{level} {kind}": sums[f"{level} {kind} in"] / sums[f"{level} {kind} n"]
            for level in LEVELS
            for kind in KINDS
            if f"{level} {kind} n" in sums
        }
    )
    return "share of days within their 80 % band:\n" + table.round(3).to_string()
