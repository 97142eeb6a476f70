"""The plan: vans and drivers for each depot and day. Tables in, tables out."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from dashboard.planning import depot_vans, scenarios, transfers
from dashboard.planning.city_settings import CitySettings
from dashboard.planning.transfers import POOL, Transfer

QUANTILES = ["p10", "p50", "p90"]
Settings = Mapping[str, CitySettings]


def make_plan(week: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Vans for every depot and day.

    Returns:
      The rows and columns of `week`, of whole cities, and: needed (vans that reach the city's
      service level at this depot alone), allocated (vans), drivers, undelivered (expected
      orders beyond their capacity), delivery_probability (the probability that all orders of
      the depot are delivered).
    """
    cities = week.groupby("city", sort=False)
    return pd.concat([_city_plan(own, settings[str(city)]) for city, own in cities])


def _city_plan(week: pd.DataFrame, city: CitySettings) -> pd.DataFrame:
    p10_r, p50_r, p90_r = (week[name].to_numpy(float) for name in QUANTILES)
    capacity = city.orders_per_van
    level_r = depot_vans.quantile_orders(p10_r, p50_r, p90_r, city.service_level)
    needed_r = depot_vans.vans_for(level_r, capacity)
    case_rs = depot_vans.cases(p10_r, p50_r, p90_r)
    allocated_r = needed_r.copy()
    for rows in week.groupby("target_on").indices.values():
        needed = needed_r[rows]
        if city.vans is not None and needed.sum() > city.vans:
            needed = np.minimum(needed, city.vans)
            most = int(needed.max())
            marginal_rv = depot_vans.marginal_orders(case_rs[rows], capacity, most)
            allocated_r[rows] = depot_vans.allocate(marginal_rv, needed, city.vans)
    return week.assign(
        needed=needed_r,
        allocated=allocated_r,
        drivers=depot_vans.vans_for(allocated_r * city.drivers_per_van, 1.0),
        undelivered=depot_vans.undelivered(case_rs, capacity, allocated_r),
        delivery_probability=depot_vans.delivery_probability(
            case_rs, capacity, allocated_r
        ),
    )


def by_city(
    plan: pd.DataFrame, settings: Settings, bands: pd.DataFrame
) -> pd.DataFrame:
    """The plan's totals by city and day.

    Returns:
      city, target_on, point (the planned total), model_point (the model's), allocated, drivers, undelivered,
      needed_pooled (vans with which all orders of the city are carried at its service level,
      if they may be moved between its depots), delivery_probability (the probability of that
      with the city's vans; NaN if these are not known), vans (of the city; NaN if not known),
      spare (vans beyond those allocated; NaN if not known), short (vans needed, pooled,
      beyond the city's). By city and day.
    """
    columns = ["part", "model_part", "allocated", "drivers", "undelivered"]
    days = plan.groupby(["city", "target_on"], as_index=False)[columns].sum()
    days = days.rename(columns={"part": "point", "model_part": "model_point"})
    vans = days["city"].map({name: each.vans for name, each in settings.items()})
    needs = pd.DataFrame(
        _needs(plan, settings, bands), columns=["needed_pooled", "delivery_probability"]
    )
    known = vans.astype(float)
    return days.assign(
        **needs,
        vans=known,
        spare=known - days["allocated"],
        short=(needs["needed_pooled"] - known).clip(lower=0).fillna(0).astype(int),
    )


def _needs(
    plan: pd.DataFrame, settings: Settings, bands: pd.DataFrame
) -> list[tuple[int, float]]:
    """`needed_pooled` and `delivery_probability` of each city and day, in order."""
    band_of = {
        (row["city"], row["target_on"]): (row["p10"], row["p90"])
        for row in bands.to_dict("records")
    }
    return [
        _need(own, settings[str(city)], band_of.get((city, day)))
        for (city, day), own in plan.groupby(["city", "target_on"])
    ]


def _need(
    day: pd.DataFrame, city: CitySettings, band: tuple[float, float] | None
) -> tuple[int, float]:
    """Computes `needed_pooled` and `delivery_probability` of one city and day.

    `band` is the 80 % band of the model's total; None if it is not known.
    """
    p10_r, p50_r, p90_r = (day[name].to_numpy(float) for name in QUANTILES)
    if band is not None:
        model = day["model_part"].sum()
        ratio = day["part"].sum() / model if model > 0 else 1.0
        band = (band[0] * ratio, band[1] * ratio)
    case_rs = scenarios.sample_orders(p10_r, p50_r, p90_r, band)
    needed = scenarios.vans_needed(case_rs, city.orders_per_van, city.service_level)
    if city.vans is None:
        return needed, float("nan")
    return needed, scenarios.delivery_probability(
        case_rs, city.orders_per_van, city.vans
    )


def transfers_by_day(plan: pd.DataFrame) -> dict[pd.Timestamp, list[Transfer]]:
    """The vans that move between the depots of a city, by day; depots by their names."""
    name_of = dict(zip(plan["depot_id"], plan["name"], strict=True))
    moves = {}
    for day, rows in plan.groupby("target_on"):
        known = rows[rows["vans"].notna()]
        own = dict(zip(known["depot_id"], known["vans"].astype(int), strict=True))
        assigned = dict(
            zip(rows["depot_id"], rows["allocated"].astype(int), strict=True)
        )
        moves[pd.Timestamp(str(day))] = [
            Transfer(
                each.vans,
                name_of.get(each.from_depot, POOL),
                name_of[each.to_depot],
            )
            for each in transfers.transfers(own, assigned)
        ]
    return moves


def with_changes(
    week: pd.DataFrame, orders: Mapping[tuple[str, pd.Timestamp], float]
) -> pd.DataFrame:
    """The week with some planned numbers changed, and the model's bands moved to them."""
    keys = zip(week["depot_id"], week["target_on"], strict=True)
    number_r = np.array([orders.get(key, np.nan) for key in keys], float)
    median_r = week["model_p50"].to_numpy(float)
    ratio_r = np.divide(
        number_r, median_r, out=np.full_like(number_r, np.nan), where=median_r > 0
    )
    is_models = number_r == week["model_point"].to_numpy(float)
    # The model's own point, for which `pipelines.schema.planned_orders` moves no quantile.
    ratio_r[is_models] = 1.0
    is_new = ~np.isnan(number_r)
    part_r = np.where(is_models, week["model_part"], number_r)
    moved = {
        "point": np.where(is_new, number_r, week["point"]),
        "part": np.where(is_new, part_r, week["part"]),
    }
    for name in QUANTILES:
        scaled_r = week[f"model_{name}"].to_numpy(float) * ratio_r
        shifted_r = np.where(np.isnan(ratio_r), number_r, scaled_r)
        moved[name] = np.where(is_new, shifted_r, week[name])
    return week.assign(**moved)
