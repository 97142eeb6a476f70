"""Hours of the day: the delivered forecast spread over hours, and the running day's estimate.

On trips with their times, at six cut-offs over the year, each followed by four weeks: the hourly
forecast beside the same hour's mean of four weeks and the shape of the whole fleet, all times the
same daily forecast, and the median that such a mean has if orders come by chance; the estimate of
the running day at 9, 12, 15 and 18 o'clock beside the morning's forecast, and beside the count
over its usual share.

    python -m tests.benchmarks.hours
"""

import argparse
from collections import defaultdict
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import poisson

from forecaster.data.panel import Panel
from forecaster.hours.day_shape import (
    HOURS,
    WINDOW_DAYS,
    DayShares,
    PastHours,
    SpecialDays,
    day_shares,
)
from forecaster.hours.hourly import forecast_parts
from forecaster.hours.today import MIN_SHARE, estimate, share_until
from forecaster.inference.totals import FLEET
from tests.benchmarks.cutoffs import CUTOFFS, HOLDOUT_DAYS, HORIZON, LENGTHS, Cell, cut
from tests.benchmarks.machine import stamp
from tests.benchmarks.peers.harbor_fleet import forecast_origins, train_by_default
from tests.benchmarks.real_fleets import real_fleets

NAME = "bayarea_bikeshare"
CLOCK = (9, 12, 15, 18)
PEER_WEEKS = 4
HOURLY_PEERS = ("four weeks", "fleet's shape")
MEDIANS = tuple(f"{peer}, median" for peer in HOURLY_PEERS)
Errors = dict[tuple[str, str], list[float]]


def hours_of_fleet(folder: Path, panel: Panel) -> np.ndarray:
    """Orders by hour of every depot and day of the panel: [depot, day, 24]."""
    files = sorted((folder / NAME).glob("orders*"))
    parts = [
        pd.read_parquet(file) if file.suffix == ".parquet" else pd.read_csv(file)
        for file in files
    ]
    orders = pd.concat([part[["depot_id", "ordered_at"]] for part in parts])
    moment = pd.to_datetime(orders["ordered_at"])
    row_of = {depot_id: row for row, depot_id in enumerate(panel.depot_ids)}
    count_dtk = np.zeros((panel.n_depots, panel.n_steps, HOURS), np.float32)
    day = (moment.dt.normalize() - pd.Timestamp(panel.start_on)).dt.days
    known = orders["depot_id"].isin(row_of) & day.between(0, panel.n_steps - 1)
    place = (orders["depot_id"][known].map(row_of), day[known], moment.dt.hour[known])
    np.add.at(count_dtk, tuple(each.to_numpy(int) for each in place), 1)
    return count_dtk


def shares(panel: Panel, count_dtk: np.ndarray, n_ahead: int) -> DayShares:
    """Shares of the days after a panel's origin, as the night makes them."""
    special = SpecialDays.of(panel)
    origin = np.datetime64(panel.origin)
    ahead = origin + 1 + np.arange(n_ahead)
    days = np.union1d(
        origin - np.arange(min(WINDOW_DAYS, panel.n_steps)),
        special.evidence_days(origin, ahead),
    )
    steps = (days - np.datetime64(panel.start_on)).astype(int)
    past = PastHours(days, count_dtk[:, steps], special.on(days))
    made = day_shares(past, panel.cities, ahead, special.on(ahead), special.holidays)
    assert made is not None, "trips have their times"
    return made


def four_weeks(count_dtk: np.ndarray, step: int, target: int) -> np.ndarray:
    """Shares of the same weekday's hours, mean of the last four known at `step`."""
    newest = target - 7 * (-(-(target - step) // 7))
    steps = [newest - 7 * week for week in range(PEER_WEEKS) if newest >= 7 * week]
    count_dk = count_dtk[:, steps].sum(axis=1)
    return count_dk / np.maximum(count_dk.sum(axis=-1, keepdims=True), 1)


def measure(folder: Path, cutoff: int, hourly: Errors, today: Errors) -> None:
    """Adds the absolute errors and the orders of one cut-off."""
    whole = real_fleets(folder)[NAME]
    cell = cut(whole, Cell(NAME, 9999, LENGTHS[-1], cutoff, CUTOFFS))
    assert cell is not None, "the data set has a year"
    panel, split = cell
    count_dtk = hours_of_fleet(folder, panel)
    production = train_by_default(panel, split).production
    origins = tuple(
        split.trained_through + timedelta(days=d) for d in range(HOLDOUT_DAYS)
    )
    every = forecast_origins(production, panel, replace(split, origins=origins))
    for number, forecast in enumerate(every):
        step = panel.step(origins[number])
        made = shares(panel.as_of(origins[number]), count_dtk, HORIZON)
        if number % HORIZON == 0:
            _add_hours(hourly, panel, forecast, made, count_dtk, step)
        _add_today(today, panel, forecast, made, count_dtk, step)


def _add_hours(errors, panel, forecast, made, count_dtk, step) -> None:
    holiday_dt = panel.calendar.of_kind("holiday")
    fleet_tk = count_dtk.sum(axis=0, keepdims=True)
    for ahead in range(1, HORIZON + 1):
        target = step + ahead
        point_d = forecast.point_dh[:, ahead - 1].astype(float)
        parts = forecast_parts(
            point_d,
            forecast.p10_dh[:, ahead - 1].astype(float),
            forecast.p90_dh[:, ahead - 1].astype(float),
            made.share_dhk[:, ahead - 1].astype(float),
            made.concentration,
        )
        actual_dk = count_dtk[:, target]
        of_models = {
            "point": parts.mean,
            "p50": parts.p50,
            "four weeks": point_d[:, None] * four_weeks(count_dtk, step, target),
            "fleet's shape": point_d[:, None] * four_weeks(fleet_tk, step, target),
        }
        for peer, median in zip(HOURLY_PEERS, MEDIANS, strict=True):
            of_models[median] = poisson.median(of_models[peer])
        kinds = ["all", "holidays" if holiday_dt[:, target].any() else
                 "weekends" if panel.day(target).weekday() >= 5 else "working days"]  # fmt: skip
        for kind in kinds:
            for name, value in of_models.items():
                errors[name, kind].append(np.abs(value - actual_dk).sum())
            errors["orders", kind].append(actual_dk.sum())
            inside = (parts.p10 <= actual_dk) & (actual_dk <= parts.p90)
            errors["inside", kind].append(inside.mean())


def _add_today(errors, panel, forecast, made, count_dtk, step) -> None:
    totals = {total.city: total for total in forecast.totals}
    share_dk, actual_dk = made.share_dhk[:, 0], count_dtk[:, step + 1].astype(float)
    for city, total in totals.items():
        here_d = np.isin(panel.cities, city) | (city == FLEET)
        kind = "fleet" if city == FLEET else "cities"
        orders, low, high = (
            np.array([each[0]], float)
            for each in (total.p50_h, total.p10_h, total.p90_h)
        )
        actual = actual_dk[here_d].sum()
        part_d = forecast.p50_dh[here_d, 0]
        for hour in CLOCK:
            until_d = share_until(share_dk[here_d], np.full(here_d.sum(), float(hour)))
            share = np.array([(part_d * until_d).sum() / max(part_d.sum(), 1e-9)])
            count = np.array([actual_dk[here_d, :hour].sum()])
            guess = estimate(count, orders, low, high, share, made.city_concentration)
            scaled = count[0] / share[0] if share[0] > 0 else orders[0]
            key = f"{kind} {hour}"
            errors["estimate", key].append(abs(guess.orders[0] - actual))
            errors["morning", key].append(abs(orders[0] - actual))
            errors["scaled", key].append(abs(scaled - actual))
            errors["orders", key].append(actual)
            errors["inside", key].append(guess.p10[0] <= actual <= guess.p90[0])
    _add_depots(errors, forecast, made, actual_dk)


def _add_depots(errors, forecast, made, actual_dk) -> None:
    """The running day of each depot of which enough has usually come by an hour."""
    share_dk, actual_d = made.share_dhk[:, 0], actual_dk.sum(axis=1)
    orders_d, low_d, high_d = (
        each[:, 0].astype(float)
        for each in (forecast.p50_dh, forecast.p10_dh, forecast.p90_dh)
    )
    for hour in CLOCK:
        share_d = share_until(share_dk, np.full(len(share_dk), float(hour)))
        count_d = actual_dk[:, :hour].sum(axis=1)
        guess = estimate(count_d, orders_d, low_d, high_d, share_d, made.concentration)
        known_d = (share_d >= MIN_SHARE) & (orders_d > 0)
        of_models = {
            "estimate": guess.orders,
            "morning": forecast.point_dh[:, 0],
            "scaled": count_d / np.maximum(share_d, MIN_SHARE),
        }
        key = f"depots {hour}"
        for name, value_d in of_models.items():
            errors[name, key].append(np.abs(value_d - actual_d)[known_d].sum())
        errors["orders", key].append(actual_d[known_d].sum())
        inside_d = (guess.p10 <= actual_d) & (actual_d <= guess.p90)
        errors["inside", key].extend(inside_d[known_d])


def report(errors: Errors, own: str, peers: tuple[str, ...]) -> str:
    """WAPE of each kind, as a multiple of each peer's, and the share within the band."""
    kinds = list(dict.fromkeys(kind for _, kind in errors))
    rows = {}
    for kind in kinds:
        orders = sum(errors["orders", kind])
        wape = {name: sum(errors[name, kind]) / orders for name in (own, *peers)}
        rows[kind] = {"WAPE %": 100 * wape[own]}
        rows[kind] |= {f"× {peer}": wape[own] / wape[peer] for peer in peers}
        rows[kind]["in band"] = float(np.mean(errors["inside", kind]))
    return pd.DataFrame.from_dict(rows, orient="index").round(3).to_string()


def main() -> None:
    """Measures every cut-off and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    args = parser.parse_args()
    print(stamp(), NAME, flush=True)
    hourly: Errors = defaultdict(list)
    today: Errors = defaultdict(list)
    for cutoff in range(CUTOFFS):
        measure(args.data, cutoff, hourly, today)
    print("\nhours, point:", report(hourly, "point", HOURLY_PEERS), sep="\n")
    print("\nhours, p50:", report(hourly, "p50", HOURLY_PEERS + MEDIANS), sep="\n")
    print("\ntoday:", report(today, "estimate", ("morning", "scaled")), sep="\n")


if __name__ == "__main__":
    main()
