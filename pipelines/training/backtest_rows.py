"""The forecasts of a backtest as rows, and their scores by segment.

A row has everything that its scores are computed from, so that they can be computed again from
the file that `harbor backtest --forecasts` writes.
"""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from forecaster.backtest import BacktestForecasts, HoldoutSplit, Scores, common_days
from forecaster.data.calendar import CLOSED, HOLIDAY
from forecaster.data.panel import Panel

SEGMENTS = ("depot", "city", "horizon", "weekday", "kind")
"""Columns by which `harbor backtest --by` groups; `depot` is the column `depot_id`."""
USUAL = "usual"
"""Kind of a day without a holiday or an event, on which the depot is open."""
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def forecast_rows(
    panel: Panel,
    split: HoldoutSplit,
    forecasts: Mapping[str, BacktestForecasts],
    comparisons: Mapping[str, BacktestForecasts],
    scale_d: np.ndarray,
) -> pd.DataFrame:
    """Builds a row for each origin, depot, day ahead and model of `forecasts`.

    Every row also has the point forecast of each model in `comparisons`, in a column named after it.

    Returns:
      depot_id, city, origin_on, target_on, horizon (days ahead), weekday, kind, model, actual,
      point, p10, p90 (orders per day; NaN where there is none), the columns of `comparisons`,
      mase_scale (orders per day), is_scored (observed, and forecast by every model).
    """
    day_n = pd.DataFrame(
        list(product(split.origins, panel.depot_ids, range(1, split.horizon + 1))),
        columns=["origin_on", "depot_id", "horizon"],
    )
    row_n = np.tile(
        np.repeat(np.arange(panel.n_depots), split.horizon), len(split.origins)
    )
    step_n = day_n["origin_on"].map(panel.step).to_numpy() + day_n["horizon"].to_numpy()
    target_n = [panel.day(step) for step in range(panel.n_steps + panel.ahead)]
    day_n = day_n.assign(
        city=np.array(panel.cities, object)[row_n],
        target_on=np.array(target_n, object)[step_n],
        weekday=[WEEKDAYS[target_n[step].weekday()] for step in step_n],
        kind=_kinds_of_days(panel, split)[row_n, step_n - panel.step(split.origins[0])],
        actual=next(iter(forecasts.values())).actual_odh.ravel(),
        **{name: each.point_odh.ravel() for name, each in comparisons.items()},
        mase_scale=scale_d[row_n],
        is_scored=common_days(forecasts).ravel(),
    )
    by_model = [
        day_n.assign(
            model=name,
            point=each.point_odh.ravel(),
            p10=each.p10_odh.ravel(),
            p90=each.p90_odh.ravel(),
        )
        for name, each in forecasts.items()
    ]
    columns = (
        "depot_id", "city", "origin_on", "target_on", "horizon", "weekday", "kind", "model",
        "actual", "point", "p10", "p90", *comparisons, "mase_scale", "is_scored",
    )  # fmt: skip
    return pd.concat(by_model, ignore_index=True)[list(columns)]


def _kinds_of_days(panel: Panel, split: HoldoutSplit) -> np.ndarray:
    """Kind of each depot's days from the first origin on: holidays, events, `USUAL`, `CLOSED`."""
    first = panel.step(split.origins[0])
    calendar = panel.calendar.steps(first, panel.n_steps)
    closed_dt = panel.closed_dt[:, first : panel.n_steps]
    kind_dt = np.full(closed_dt.shape, "", object)
    for kind in calendar.kinds:
        if kind != HOLIDAY:
            is_kind_dt = calendar.of_kind(kind)
            kind_dt[is_kind_dt] += ", " + kind
    named_dt = np.where(
        kind_dt == "", USUAL, np.vectorize(lambda text: text[2:])(kind_dt)
    )
    return np.where(closed_dt, CLOSED, named_dt)


def scores_by(rows: pd.DataFrame, segments: Sequence[str]) -> list[dict[str, object]]:
    """Scores each model in each segment, over the days that every model forecast.

    The rows are from `forecast_rows`; a segment is one combination of the values of `segments`.

    Returns:
      One row for each segment and model, in order: the segment's values by name, model, and
      the scores as `Scores.in_percent` returns them.
    """
    columns = ["depot_id" if name == "depot" else name for name in segments]
    scored = rows[rows["is_scored"]]
    weekday = pd.Categorical(scored["weekday"], WEEKDAYS, ordered=True)
    model = pd.Categorical(scored["model"], rows["model"].unique(), ordered=True)
    groups = scored.assign(weekday=weekday, model=model).groupby(
        [*columns, "model"], observed=True
    )
    return [
        {
            **dict(zip(segments, key, strict=False)),
            "model": key[-1],
            **_scores(group).in_percent(),
        }
        for key, group in groups
    ]


def _scores(rows: pd.DataFrame) -> Scores:
    actual, point, low, high, scale = (
        rows[name].to_numpy(float)
        for name in ("actual", "point", "p10", "p90", "mase_scale")
    )
    return Scores.of(actual, point, (low, high), np.ones(len(rows), bool), scale)
