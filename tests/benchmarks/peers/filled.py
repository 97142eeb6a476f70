"""Whole series for models that cannot read a gap."""

import numpy as np
import pandas as pd

from forecaster.data.panel import Panel


def filled_counts(panel: Panel) -> np.ndarray:
    """Orders per day, [D, T], from each depot's first observed day on; NaN before it.

    A day that is closed or not observed takes the median of the four same weekdays
    before it, else of those after it, else the depot's median.
    """
    return np.stack([_filled(row_t) for row_t in panel.demand_dt.astype(float)])


def _filled(row_t: np.ndarray) -> np.ndarray:
    known = np.flatnonzero(np.isfinite(row_t))
    if not len(known):
        return np.zeros_like(row_t)
    row = pd.Series(row_t[known[0] :])
    for weeks in ((7, 14, 21, 28), (-7, -14, -21, -28)):
        near = pd.concat([row.shift(days) for days in weeks], axis=1)
        row = row.fillna(near.median(axis=1))
    whole = row.fillna(row.median()).to_numpy()
    return np.concatenate([np.full(known[0], np.nan), whole])


def calendar_columns(panel: Panel, depot: int) -> pd.DataFrame:
    """Holidays and events of a depot's days, days ahead included, as 0.0 and 1.0.

    Kinds that fell on fewer than two of the panel's days teach nothing and are left out.
    """
    calendar = panel.calendar
    active_tk = calendar.active_gtk[calendar.group_d[depot]]
    often_k = active_tk[: panel.n_steps].sum(axis=0) >= 2
    names = [f"kind_{k}" for k in np.flatnonzero(often_k)]
    return pd.DataFrame(active_tk[:, often_k].astype(float), columns=names)
