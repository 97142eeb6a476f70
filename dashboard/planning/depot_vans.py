"""Vans needed per depot and day, and their allocation within a city.

Arrays in, arrays out. Orders are distributed around the median so that the forecast's
three quantiles hold: normal on the logarithm of one plus the count, with its own width on
either side. The distribution is represented by equally likely cases.

Letters: R rows (depots on a day), S cases, V vans. `capacity` is the orders that a van
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


def marginal_orders(case_rs: np.ndarray, capacity: float, vans: int) -> np.ndarray:
    """Orders that each of the first vans of a row is expected to carry: [R, vans].

    Column v is the van after the first v. It never rises along a row, because a van is only
    used once those before it are full: expected undelivered orders are convex.
    """
    columns = [
        np.clip(case_rs - capacity * van, 0.0, capacity).mean(axis=1)
        for van in range(vans)
    ]
    return np.stack(columns, axis=1) if columns else np.zeros((len(case_rs), 0))


def allocate(marginal_rv: np.ndarray, needed_r: np.ndarray, vans: int) -> np.ndarray:
    """The split of the vans over the rows of one day that carries most orders.

    Each van goes where it is expected to carry most, but to no row more than it needs.
    Because marginal orders never rise, taking the greatest one by one is optimal.

    Args:
      marginal_rv: From `marginal_orders`, at least as many vans as any row needs.
      needed_r: Vans beyond which a row gets none.
      vans: To be split; those that no row needs are left over.

    Returns:
      Vans per row.
    """
    row_k, van_k = np.nonzero(np.arange(marginal_rv.shape[1]) < needed_r[:, None])
    # Ties go round the rows, not to the first one.
    order = np.lexsort((row_k, van_k, -marginal_rv[row_k, van_k]))[:vans]
    return np.bincount(row_k[order], minlength=len(needed_r))


def undelivered(case_rs: np.ndarray, capacity: float, vans_r: np.ndarray) -> np.ndarray:
    """Expected orders beyond the capacity of each row's vans."""
    return np.maximum(case_rs - capacity * vans_r[:, None], 0.0).mean(axis=1)


def delivery_probability(
    case_rs: np.ndarray, capacity: float, vans_r: np.ndarray
) -> np.ndarray:
    """Probability that the vans of each row carry all of its orders."""
    return (case_rs <= capacity * vans_r[:, None] + TOLERANCE).mean(axis=1)
