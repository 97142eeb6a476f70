"""What of a network's answer is delivered, and its bands, from days it has not seen."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from forecaster.data.features import build_features
from forecaster.data.panel import Panel
from forecaster.inference import infer, intervals, predict, totals
from forecaster.inference.artefact import Artefact
from forecaster.inference.intervals import IntervalTable
from forecaster.inference.postprocessing import HoldoutForecasts, Postprocessing, choose
from forecaster.inference.totals import Bands


def calibrate_artefact(evaluation: Artefact, panel: Panel) -> Artefact:
    """The artefact with its delivery and its intervals, from days it has not seen.

    Args:
      evaluation: Trained through an earlier day than the panel's origin.
      panel: With the days since; every one of them but the last is an origin.

    Raises:
      NoDataError: a horizon day has no known actual.
    """
    origins = range(panel.step(evaluation.trained_through), panel.n_steps - 1)
    days = _Holdout(_unseen(evaluation, panel, origins), panel, origins)
    delivery = choose(days.unseen, panel.depot_ids)
    table = days.intervals_around(delivery)
    groups = totals.calibrate(
        days.bands(table, delivery), days.unseen.actual, days.unseen.known, panel.cities
    )
    return replace(
        evaluation,
        postprocessing=delivery,
        intervals=intervals.scale_to_typical_days(
            table,
            _relative_difficulty(
                evaluation, panel, len(origins) - evaluation.horizon + 1
            ),
        ),
        totals=groups,
    )


@dataclass(frozen=True)
class _Holdout:
    """Forecasts of days the fit had not seen, from origins a day apart."""

    unseen: HoldoutForecasts
    panel: Panel
    origins: Sequence[int]

    def intervals_around(self, delivery: Postprocessing) -> IntervalTable:
        """Of what is delivered."""
        unseen, depot_ids = self.unseen, self.panel.depot_ids
        actual_odh = np.log1p(np.where(unseen.known, unseen.actual, 0.0))
        gap_odh = actual_odh - unseen.points(delivery, depot_ids)
        return intervals.calibrate(
            gap_odh / unseen.spread[..., None],
            unseen.known,
            self._weekday_oh(),
            depot_ids,
        )

    def bands(self, table: IntervalTable, delivery: Postprocessing) -> Bands:
        """Orders per day."""
        depot_ids = self.panel.depot_ids
        points = self.unseen.points(delivery, depot_ids)
        rows = zip(points, self.unseen.spread, self._weekday_oh(), strict=True)
        bands = [
            (*intervals.band(table, point_dh, spread_d, weekday_h, depot_ids), point_dh)
            for point_dh, spread_d, weekday_h in rows
        ]
        low, high, point = (np.stack(part) for part in zip(*bands, strict=True))
        return Bands(*(infer.orders(log) for log in (low, point, high)))

    def _weekday_oh(self) -> Int[np.ndarray, "origin horizon"]:
        horizon = self.unseen.plain.shape[2]
        first_o1 = self.panel.start_on.weekday() + 1 + np.array(self.origins)[:, None]
        return (first_o1 + np.arange(horizon)) % 7


def _unseen(evaluation: Artefact, panel: Panel, origins: range) -> HoldoutForecasts:
    """What the artefact says from each origin, beside what happened."""
    plain, correction, spread, actual, known = [], [], [], [], []
    days = [panel.day(step) for step in origins]
    for said in predict.predict_origins(evaluation, panel, days):
        actual.append(_ahead(panel, panel.step(said.origin_on), evaluation.horizon))
        plain.append(said.baseline_dh)
        correction.append(said.correction_dh)
        spread.append(said.spread_d)
        known.append(np.isfinite(actual[-1]) & ~said.cold_start_d[:, None])
    return HoldoutForecasts(*map(np.stack, (plain, correction, spread, actual, known)))


def _ahead(panel: Panel, step: int, horizon: int) -> Float[np.ndarray, "depot horizon"]:
    """Orders of the days after a step, NaN where not known (yet)."""
    orders_dh = panel.demand_dt[:, step + 1 : step + 1 + horizon].astype(float)
    missing = ((0, 0), (0, horizon - orders_dh.shape[1]))
    return np.pad(orders_dh, missing, constant_values=np.nan)


def _relative_difficulty(evaluation: Artefact, panel: Panel, days: int) -> float:
    """How easy these days were beside those of a year, by a plain forecast's residuals."""
    features = build_features(panel, evaluation.kinds, evaluation.horizon)
    n_steps = panel.n_steps
    residual_dt = np.abs(features.recent_residuals_dtf[:, 1:n_steps, 0])
    # A spread that had not seen the miss; and not that of a depot which has none yet.
    spread_dt = features.spread_dt[:, : n_steps - 1]
    mature_dt = features.age_dt[:, 1:n_steps] > np.log1p(intervals.MATURE_DAYS)
    known_dt = (features.observed_dt[:, 1:n_steps] > 0) & mature_dt
    return intervals.relative_difficulty(residual_dt / spread_dt, known_dt, days)
