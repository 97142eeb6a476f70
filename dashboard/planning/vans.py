"""Vans of a depot and of a city on a day, and the chance that they suffice.

Arrays in, arrays out. Orders are distributed around the median so that the forecast's
three quantiles hold: normal on the logarithm of one plus the count, with its own width on
either side. A depot's distribution is represented by equally likely cases. A city's depots
are drawn together, with the one correlation that gives their total its 80 % band.

Letters: R rows (depots on a day), S cases, V vans of a row, K vans of all rows. `capacity` is the orders that a van
carries per day.
"""

from statistics import NormalDist

import numpy as np

N_CASES = 200
NORMAL = NormalDist()
Z90 = NORMAL.inv_cdf(0.9)
"""Standard deviations from the median to the 10 % and 90 % quantiles."""
TOLERANCE = 1e-9
"""Orders or vans below which a difference is rounding."""
N_SCENARIOS = 400
SEED = 20_251_121
"""Fixed, so that the same forecast always has the same chance."""
BAND_SIGMAS = 2 * Z90
"""Width of an 80 % band in standard deviations."""


def quantile_orders(
    p10_r: np.ndarray, p50_r: np.ndarray, p90_r: np.ndarray, probability: float
) -> np.ndarray:
    """The quantile of a day's orders at a probability between 0 and 1.

    Returns:
      Orders per day, not rounded, never negative; `p50_r` at 0.5.
    """
    return orders_at(p10_r, p50_r, p90_r, np.array(NORMAL.inv_cdf(probability)))


def orders_at(
    p10: np.ndarray, p50: np.ndarray, p90: np.ndarray, z: np.ndarray
) -> np.ndarray:
    """Orders `z` standard deviations above the median; the arrays are broadcast."""
    median = np.log1p(p50)
    side = np.where(z > 0, np.log1p(p90) - median, median - np.log1p(p10))
    return np.maximum(np.expm1(median + z / Z90 * side), 0.0)


def cases(p10_r: np.ndarray, p50_r: np.ndarray, p90_r: np.ndarray) -> np.ndarray:
    """Equally likely numbers of orders of each row, smallest first: [R, S]."""
    probabilities = (np.arange(N_CASES) + 0.5) / N_CASES
    columns = [
        quantile_orders(p10_r, p50_r, p90_r, float(each)) for each in probabilities
    ]
    return np.stack(columns, axis=1)


def vans_for(orders_r: np.ndarray, capacity: float) -> np.ndarray:
    """The fewest vans that carry all orders."""
    return np.ceil(orders_r / capacity - TOLERANCE).astype(int)


def allocation_order(case_rs: np.ndarray, capacity: float) -> np.ndarray:
    """The row to which each van goes, the van first that carries most orders.

    A van of a row is only used once those before it are full, so what it is expected to
    carry never rises along a row: the first n vans of the order are the n that together
    carry most. No row gets more vans than its highest case fills.

    Returns:
      Indices of rows, as many as all rows can use.
    """
    most_r = vans_for(case_rs[:, -1], capacity)
    row_k, van_k = np.nonzero(np.arange(most_r.max(initial=0)) < most_r[:, None])
    full_before = capacity * np.arange(most_r.max(initial=0))
    carried_vr = [
        np.clip(case_rs - full, 0.0, capacity).mean(axis=1) for full in full_before
    ]
    carried_k = np.array(carried_vr)[van_k, row_k] if len(row_k) else np.zeros(0)
    # Ties go round the rows, not to the first one.
    return row_k[np.lexsort((row_k, van_k, -carried_k))]


def undelivered(case_rs: np.ndarray, capacity: float, vans_r: np.ndarray) -> np.ndarray:
    """Expected orders beyond the capacity of each row's vans."""
    return np.maximum(case_rs - capacity * vans_r[:, None], 0.0).mean(axis=1)


def delivery_probability(
    case_rs: np.ndarray, capacity: float, vans_r: np.ndarray
) -> np.ndarray:
    """Probability that the vans of each row carry all of its orders."""
    return (case_rs <= capacity * vans_r[:, None] + TOLERANCE).mean(axis=1)


def sample_orders(
    p10_r: np.ndarray,
    p50_r: np.ndarray,
    p90_r: np.ndarray,
    total_band: tuple[float, float] | None,
) -> np.ndarray:
    """Equally likely joint scenarios of the orders of a city's depots on a day: [R, S].

    The first three are quantiles of each depot; `total_band` has those of 10 and 90 % of their
    total. Without it the depots are taken to be high and low together.
    """
    rho = 1.0 if total_band is None else correlation(p90_r - p10_r, total_band)
    rng = np.random.default_rng(SEED)
    shared_s = rng.standard_normal(N_SCENARIOS)
    own_rs = rng.standard_normal((len(p50_r), N_SCENARIOS))
    z_rs = np.sqrt(rho) * shared_s + np.sqrt(1 - rho) * own_rs
    return orders_at(p10_r[:, None], p50_r[:, None], p90_r[:, None], z_rs)


def correlation(width_r: np.ndarray, total_band: tuple[float, float]) -> float:
    """The correlation between depots that gives their total its 80 % band, 0 to 1."""
    sigma_r = width_r / BAND_SIGMAS
    alone, together = (sigma_r**2).sum(), sigma_r.sum() ** 2
    if together <= alone:
        return 1.0
    total = ((total_band[1] - total_band[0]) / BAND_SIGMAS) ** 2
    return float(np.clip((total - alone) / (together - alone), 0.0, 1.0))


def city_delivery_probability(
    orders_rs: np.ndarray, orders_per_van: float, vans: int
) -> float:
    """Probability that the vans carry all orders of a city on a day.

    They may be moved between its depots that morning, but a van serves one depot.
    """
    return float((_vans_by_scenario(orders_rs, orders_per_van) <= vans).mean())


def vans_needed(orders_rs: np.ndarray, orders_per_van: float, level: float) -> int:
    """The fewest vans with which `city_delivery_probability` reaches a level between 0 and 1."""
    needed_s = np.sort(_vans_by_scenario(orders_rs, orders_per_van))
    return int(needed_s[int(np.ceil(level * len(needed_s) - 1e-9)) - 1])


def _vans_by_scenario(orders_rs: np.ndarray, orders_per_van: float) -> np.ndarray:
    return vans_for(orders_rs, orders_per_van).sum(axis=0)
