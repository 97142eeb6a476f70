"""The accuracy of live forecasts, and the alarms on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import sqlalchemy as sa

from pipelines.settings import Settings
from pipelines.store import accuracy
from pipelines.store.accuracy import Period, SegmentScores

LOOK_BACK_DAYS = 28
MIN_DEPOT_DAYS = 200
"""Minimum depot-days for coverage: with 200, its standard error is 3 points."""


@dataclass(frozen=True)
class LiveAccuracy:
    """The accuracy of the last four weeks of live forecasts; all values are fractions.

    Args:
      worse_days: Number of consecutive days, up to the newest, on which the fleet's MAPE was
        above the seasonal naive's.
      mape: MAPE of the forecasts; None where nothing was scored.
      naive_mape: MAPE of the seasonal naive over the same depot-days.
      coverage: Share of actuals inside the 80 % interval; None where too few were scored.
    """

    worse_days: int
    mape: float | None
    naive_mape: float | None
    coverage: float | None
    alarms: tuple[str, ...]

    def metrics(self) -> dict[str, Any]:
        """The values as run metrics."""
        values = {
            "mape": self.mape,
            "naive_mape": self.naive_mape,
            "coverage": self.coverage,
        }
        rounded = {
            name: round(value, 4) for name, value in values.items() if value is not None
        }
        alarms = {"alarms": list(self.alarms)} if self.alarms else {}
        return {"worse_days": self.worse_days, **rounded, **alarms}


def measure(engine: sa.Engine, settings: Settings) -> LiveAccuracy:
    """Measures the accuracy of live forecasts on the newest scored days."""
    with engine.connect() as connection:
        days = accuracy.by_segments(connection, ("day",), Period(LOOK_BACK_DAYS))
    return assess(days, settings)


def scores_by(
    connection: sa.Connection, segments: Sequence[str], period: Period
) -> list[dict[str, Any]]:
    """Live scores of a period, grouped by some of `accuracy.SEGMENTS`, with both naive forecasts.

    Without a segment, the scores of the whole fleet.

    Returns:
      One row per segment, in order: segment (a value; a list of them for several segments),
      mape, naive_mape, median_mape, wape, bias (in percent), coverage80 (a fraction), days
      (number of scores: one for each depot-day and horizon). None where undefined.
    """
    return [
        {
            "segment": score.segment[0] if len(segments) == 1 else list(score.segment),
            "mape": _percent(score.ape_sum, score.n_comparable),
            "naive_mape": _percent(score.naive_ape_sum, score.n_comparable),
            "median_mape": _percent(score.median_ape_sum, score.n_comparable),
            "wape": _percent(score.abs_error_sum, score.actual_sum),
            "bias": _percent(score.error_sum, score.actual_sum),
            "coverage80": score.n_in_interval / score.n,
            "days": score.n,
        }
        for score in accuracy.by_segments(connection, segments, period)
    ]


def _percent(part: float, total: float) -> float | None:
    return None if total == 0 else 100 * part / total


def assess(days: list[SegmentScores], settings: Settings) -> LiveAccuracy:
    """Computes accuracy and alarms from daily scores, oldest first; no I/O."""
    compared = [day for day in reversed(days) if day.n_comparable]
    worse = list(takewhile(lambda day: day.ape_sum > day.naive_ape_sum, compared))[::-1]
    n = sum(day.n for day in days)
    is_enough = n >= MIN_DEPOT_DAYS
    coverage = sum(day.n_in_interval for day in days) / n if is_enough else None
    alarms = _worse_alarm(worse, settings), _coverage_alarm(days, coverage, settings)
    mape, naive = _mapes(compared[::-1]) if compared else (None, None)
    raised = tuple(alarm for alarm in alarms if alarm is not None)
    return LiveAccuracy(len(worse), mape, naive, coverage, raised)


def _mapes(compared: list[SegmentScores]) -> tuple[float, float]:
    """The MAPE of the forecasts and of the seasonal naive, over days with comparable scores."""
    n = sum(day.n_comparable for day in compared)
    sums = (
        sum(day.ape_sum for day in compared),
        sum(day.naive_ape_sum for day in compared),
    )
    return sums[0] / n, sums[1] / n


def _worse_alarm(worse: list[SegmentScores], settings: Settings) -> str | None:
    """The alarm if the seasonal naive was better on too many newest days in a row."""
    if len(worse) < settings.alert_days_worse_than_naive:
        return None
    mape, naive = _mapes(worse)
    return (
        "The forecasts shown have missed by more than the seasonal naive for "
        f"{len(worse)} days in a row, from {worse[0].segment[0]} to "
        f"{worse[-1].segment[0]}: MAPE {100 * mape:.1f} % against {100 * naive:.1f} %. The "
        "accuracy page shows what changed; 'harbor train' trains a new model, 'harbor models "
        "rollback' goes back to the last one."
    )


def _coverage_alarm(
    days: list[SegmentScores], coverage: float | None, settings: Settings
) -> str | None:
    low, high = settings.alert_coverage_low, settings.alert_coverage_high
    if coverage is None or low <= coverage <= high:
        return None
    # From the rounded coverage, as in the run's metrics.
    percent = round(100 * round(coverage, 4), 1)
    if low <= percent / 100 <= high:
        # Rounding must not show a coverage that is within the limits.
        percent += 0.1 if coverage > high else -0.1
    return (
        f"{percent:.1f} % of the actuals from {days[0].segment[0]} to "
        f"{days[-1].segment[0]} lay inside the 80 % band, but {100 * low:.0f} to "
        f"{100 * high:.0f} % should. 'harbor train' calibrates the band again."
    )
