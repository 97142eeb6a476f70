"""Vans of a depot and of a city on a day, and the chance that they suffice.

Arrays in, arrays out. The logarithm of one plus the orders is normal around its median, with
a different width on either side, so that the forecast's three quantiles hold. A depot's
distribution is represented by equally likely cases.

Letters: R rows (depots on a day), S cases or paths, V vans of a row, K vans of all rows. `capacity` is the orders that a van
carries per day.
"""

from statistics import NormalDist

import numpy as np

from forecaster.inference import paths
from forecaster.inference.totals import QuantileForecasts

N_CASES = 200
NORMAL = NormalDist()
MOVE_COST = 0.1
"""Share of a full load that a van loses when it changes depots for a day: about three quarters of
an hour of an eight-hour shift. In a week of the demo it avoids 7 of 32 moves, at the cost of 15
late orders of 37,184 (9df3b6b8, 2026-11-28)."""
TOLERANCE = 1e-9
"""Orders or vans below which a difference is rounding."""


def quantile_orders(
    p10_r: np.ndarray, p50_r: np.ndarray, p90_r: np.ndarray, probability: float
) -> np.ndarray:
    """The quantile of a day's orders at a probability between 0 and 1.

    Returns:
      Orders per day, not rounded, never negative; `p50_r` at 0.5.
    """
    z = np.array(NORMAL.inv_cdf(probability))
    return paths.orders_at(QuantileForecasts(p10_r, p50_r, p90_r), z)


def cases(p10_r: np.ndarray, p50_r: np.ndarray, p90_r: np.ndarray) -> np.ndarray:
    """Equally likely numbers of orders of each row, smallest first: [R, S]."""
    z_s = np.array([NORMAL.inv_cdf((case + 0.5) / N_CASES) for case in range(N_CASES)])
    quantiles = (each_r[:, None] for each_r in (p10_r, p50_r, p90_r))
    return paths.orders_at(QuantileForecasts(*quantiles), z_s)


def vans_for(orders_r: np.ndarray, capacity: float) -> np.ndarray:
    """The fewest vans that carry all orders."""
    return np.ceil(orders_r / capacity - TOLERANCE).astype(int)


def vans_that_suffice(vans_s: np.ndarray, level: float) -> int:
    """The fewest vans that suffice in a share `level` of equally likely cases."""
    place = int(np.ceil(level * len(vans_s) - TOLERANCE))
    return int(np.sort(vans_s)[max(place, 1) - 1])


def allocation_order(
    case_rs: np.ndarray,
    capacity: float,
    own_r: np.ndarray | None = None,
    most_r: np.ndarray | None = None,
) -> np.ndarray:
    """Rows to which vans are allocated one by one, largest expected orders less move costs first.

    The vans of a row are filled one after another, so each is expected to carry no more than
    the one before it: the first n vans of the order are the n that together carry most.

    Args:
      case_rs: Orders of each row, equally likely and smallest first.
      capacity: Orders that a van carries.
      own_r: Vans that each row owns; a further van is moved there, and its expected orders count
        `MOVE_COST` of a full load less. None: moves cost nothing.
      most_r: Maximum vans of each row; by default as many as its highest case needs.

    Returns:
      Row index of each van, for as many vans as all rows can use.
    """
    if most_r is None:
        most_r = vans_for(case_rs[:, -1], capacity)
    row_k, van_k = np.nonzero(np.arange(most_r.max(initial=0)) < most_r[:, None])
    full_before = capacity * np.arange(most_r.max(initial=0))
    carried_vr = [
        np.clip(case_rs - full, 0.0, capacity).mean(axis=1) for full in full_before
    ]
    value_k = np.array(carried_vr)[van_k, row_k] if len(row_k) else np.zeros(0)
    if own_r is not None:
        value_k -= MOVE_COST * capacity * (van_k >= own_r[row_k])
    # Among ties, every row gets its first van before any gets its second.
    return row_k[np.lexsort((row_k, van_k, -value_k))]


def undelivered(case_rs: np.ndarray, capacity: float, vans_r: np.ndarray) -> np.ndarray:
    """Expected orders beyond the capacity of each row's vans."""
    return np.maximum(case_rs - capacity * vans_r[:, None], 0.0).mean(axis=1)


def left_behind(orders_sr: np.ndarray, capacity: float, n_vans: int) -> np.ndarray:
    """Orders of each path that `n_vans` leave behind, if moved to where they carry most: [S].

    0 on paths on which the vans suffice; on the others, the missing vans have the smallest loads.
    """
    vans_sr = vans_for(orders_sr, capacity)
    missing_s = np.maximum(vans_sr.sum(axis=1) - n_vans, 0)
    # The last van of a row takes what the full ones before it leave.
    last_sr = np.where(vans_sr > 0, orders_sr - capacity * (vans_sr - 1), np.inf)
    emptiest_sr = np.sort(last_sr, axis=1)
    emptiest_sr[np.isinf(emptiest_sr)] = capacity
    place_r = np.arange(emptiest_sr.shape[1])
    left_s = np.where(place_r < missing_s[:, None], emptiest_sr, 0.0).sum(axis=1)
    left_s += capacity * np.maximum(missing_s - len(place_r), 0)
    return np.asarray(left_s)


def delivery_probability(
    case_rs: np.ndarray, capacity: float, vans_r: np.ndarray
) -> np.ndarray:
    """Probability that the vans of each row carry all of its orders."""
    return (case_rs <= capacity * vans_r[:, None] + TOLERANCE).mean(axis=1)
