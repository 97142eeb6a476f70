"""How good the forecasts that were shown have been, and when that is an alarm."""

from dataclasses import dataclass
from datetime import date
from typing import Any

import sqlalchemy as sa

from pipelines.settings import Settings
from pipelines.store import accuracy as store
from pipelines.store.accuracy import DayScores

LOOK_BACK_DAYS = 28
LEAST_DEPOT_DAYS = 200
"""Fewer say little of a band: the share of 200 is off by 3 points by chance alone."""


@dataclass(frozen=True)
class Watch:
    """What was seen over the last four weeks of live forecasts; fractions throughout.

    Args:
      worse_days: Newest days in a row on which the fleet's MAPE was above the seasonal
        naive's.
      mape: Of the forecasts; None where nothing was scored.
      naive_mape: Of the seasonal naive over the same depot-days.
      coverage: Share of actuals inside the 80 % band; None where too few were scored.
      alarms: One sentence each.
    """

    worse_days: int
    mape: float | None
    naive_mape: float | None
    coverage: float | None
    alarms: tuple[str, ...]

    def metrics(self) -> dict[str, Any]:
        """For the ledger."""
        shown = {
            "mape": self.mape,
            "naive_mape": self.naive_mape,
            "coverage": self.coverage,
        }
        seen = {
            name: round(value, 4) for name, value in shown.items() if value is not None
        }
        told = {"alarms": list(self.alarms)} if self.alarms else {}
        return {"worse_days": self.worse_days, **seen, **told}


def watch(engine: sa.Engine, settings: Settings) -> Watch:
    """Looks at the live forecasts of the newest scored days.

    Args:
      engine: Database the pipelines own.
      settings: Say what is an alarm.
    """
    with engine.connect() as connection:
        days = store.newest_days(connection, LOOK_BACK_DAYS)
    return judge(days, settings)


def scores_by(engine: sa.Engine, part: str, days: int) -> list[dict[str, Any]]:
    """Live scores of each depot, city, horizon day or model, beside both baselines.

    Args:
      engine: Database the pipelines own.
      part: One of `store.PARTS`.
      days: Newest days with live scores.

    Returns:
      One row per part, in its order: part, mape, naive_mape, median_mape, wape, bias (in
      percent), coverage80 (a fraction), days. None where undefined.
    """
    with engine.connect() as connection:
        found = store.by_part(connection, part, days)
    return [
        {
            "part": each.part,
            "mape": _percent(each.error, each.compared),
            "naive_mape": _percent(each.naive_error, each.compared),
            "median_mape": _percent(each.median_error, each.compared),
            "wape": _percent(each.miss, each.volume),
            "bias": _percent(each.gap, each.volume),
            "coverage80": each.inside / each.scored,
            "days": each.scored,
        }
        for each in found
    ]


def _percent(part: float, whole: float) -> float | None:
    return None if whole == 0 else 100 * part / whole


def judge(days: list[DayScores], settings: Settings) -> Watch:
    """The rule alone.

    Args:
      days: Oldest first.
      settings: Say what is an alarm.
    """
    worse = _days_worse(days)
    mape, naive = _mean(days, "error"), _mean(days, "naive_error")
    coverage = _coverage(days)
    alarms = (
        _worse_alarm(days, worse, settings),
        _coverage_alarm(days, coverage, settings),
    )
    told = tuple(alarm for alarm in alarms if alarm is not None)
    return Watch(len(worse), mape, naive, coverage, told)


def _days_worse(days: list[DayScores]) -> list[date]:
    """The newest days in a row on which the naive was better, newest first."""
    found: list[date] = []
    for day in reversed(days):
        if day.compared == 0:
            continue
        if day.error <= day.naive_error:
            break
        found.append(day.target_on)
    return found


def _mean(days: list[DayScores], error: str) -> float | None:
    compared = sum(day.compared for day in days)
    if compared == 0:
        return None
    return float(sum(getattr(day, error) for day in days)) / compared


def _coverage(days: list[DayScores]) -> float | None:
    scored = sum(day.scored for day in days)
    if scored < LEAST_DEPOT_DAYS:
        return None
    return sum(day.inside for day in days) / scored


def _worse_alarm(
    days: list[DayScores], worse: list[date], settings: Settings
) -> str | None:
    if len(worse) < settings.alarm_worse_days:
        return None
    bad = [day for day in days if day.target_on >= worse[-1]]
    mape, naive = _mean(bad, "error"), _mean(bad, "naive_error")
    assert mape is not None, "the days were compared"
    assert naive is not None, "the days were compared"
    return (
        "The forecasts shown have missed by more than the seasonal naive for "
        f"{len(worse)} days in a row, from {worse[-1]} to {worse[0]}: MAPE "
        f"{100 * mape:.1f} % against {100 * naive:.1f} %. The accuracy page shows "
        "what changed; 'harbor train' trains a new model, 'harbor models rollback' "
        "goes back to the last one."
    )


def _coverage_alarm(
    days: list[DayScores], coverage: float | None, settings: Settings
) -> str | None:
    low, high = settings.alarm_coverage_low, settings.alarm_coverage_high
    if coverage is None or low <= coverage <= high:
        return None
    return (
        f"{100 * coverage:.0f} % of the actuals from {days[0].target_on} to "
        f"{days[-1].target_on} lay inside the 80 % band, but {100 * low:.0f} to "
        f"{100 * high:.0f} % should. 'harbor train' calibrates the band again."
    )
