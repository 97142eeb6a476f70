"""Vans needed per depot and day, and their allocation within a city.

Arrays in, arrays out. A day's orders are taken as spread around the median so that the
forecast's three quantiles hold: normal on the logarithm of one plus the count, with a
width of its own on either side. They are represented by equally likely cases.

Letters: R rows (depots on a day), S cases, V vans.
"""

from statistics import NormalDist

import numpy as np

N_CASES = 200
NORMAL = NormalDist()
TENTH = NORMAL.inv_cdf(0.9)
"""Standard deviations from the median to the 10 % and 90 % quantiles."""
# Of a van: below it, one more van is expected to carry nothing.
NOTHING = 1e-9


def quantile_orders(
    p10_r: np.ndarray, p50_r: np.ndarray, p90_r: np.ndarray, share: float
) -> np.ndarray:
    """Orders that a day stays within, with a probability.

    Args:
      p10_r: Orders that one day in ten stays below.
      p50_r: The median.
      p90_r: Orders that nine days in ten stay below.
      share: The probability, between 0 and 1.

    Returns:
      Orders per day, not rounded, never negative; `p50_r` at 0.5.
    """
    middle_r = np.log1p(p50_r)
    away = NORMAL.inv_cdf(share) / TENTH
    side_r = np.log1p(p90_r) - middle_r if away > 0 else middle_r - np.log1p(p10_r)
    return np.maximum(np.expm1(middle_r + away * side_r), 0.0)


def cases(p10_r: np.ndarray, p50_r: np.ndarray, p90_r: np.ndarray) -> np.ndarray:
    """Equally likely numbers of orders of each row, smallest first: [R, S]."""
    shares = (np.arange(N_CASES) + 0.5) / N_CASES
    columns = [quantile_orders(p10_r, p50_r, p90_r, float(share)) for share in shares]
    return np.stack(columns, axis=1)


def needed_by_level(
    p10_r: np.ndarray,
    p50_r: np.ndarray,
    p90_r: np.ndarray,
    capacity: float,
    level: float,
) -> np.ndarray:
    """The least vans that carry all of a day's orders with a probability.

    Args:
      p10_r: As `quantile_orders`, as the next two.
      p50_r: The median.
      p90_r: Likewise.
      capacity: Orders that a van carries per day.
      level: The probability, between 0 and 1.
    """
    orders_r = quantile_orders(p10_r, p50_r, p90_r, level)
    # A hair less than a full van more is rounding, not an order.
    return np.ceil(orders_r / capacity - 1e-9).astype(int)


def marginal_orders(case_rs: np.ndarray, capacity: float, most: int) -> np.ndarray:
    """Orders that each further van of a row is expected to carry: [R, V].

    Column v is the van after the first v. It never rises along a row, because a van is
    only used once those before it are full: expected orders left over are convex.

    Args:
      case_rs: From `cases`.
      capacity: Orders that a van carries per day.
      most: Vans to look at.
    """
    columns = [
        np.clip(case_rs - capacity * van, 0.0, capacity).mean(axis=1)
        for van in range(most)
    ]
    return np.stack(columns, axis=1) if columns else np.zeros((len(case_rs), 0))


def max_useful_vans(case_rs: np.ndarray, capacity: float) -> int:
    """Vans beyond which none is ever of use to any row."""
    busiest = float(case_rs.max(initial=0.0))
    return int(np.ceil(busiest / capacity))


def needed_by_cost(
    next_rv: np.ndarray, capacity: float, per_order: float, per_idle_van: float
) -> np.ndarray:
    """The vans of least expected cost.

    One more van pays as long as the orders it is expected to carry, at what each left
    over would cost, outweigh the part of it that is expected to stand idle.

    Args:
      next_rv: From `marginal_orders`, as far as any van is useful.
      capacity: Orders that a van carries per day.
      per_order: Cost of one undelivered order.
      per_idle_van: Cost of one van that carries nothing all day.
    """
    idle_rv = (capacity - next_rv) / capacity
    pays_rv = (per_order * next_rv > per_idle_van * idle_rv) & (next_rv > NOTHING)
    return pays_rv.sum(axis=1)


def allocate(next_rv: np.ndarray, needed_r: np.ndarray, vans: int) -> np.ndarray:
    """The split of the vans over the rows of one day that carries most orders.

    Each van goes where it is expected to carry most, but to no row more than it needs.
    Because what the next van carries never rises, taking the greatest one by one leaves
    no better split.

    Args:
      next_rv: From `marginal_orders`, at least as many vans as any row needs.
      needed_r: Vans beyond which a row gets none.
      vans: To be split; those nobody needs are left over.

    Returns:
      Vans per row.
    """
    row_k, van_k = np.nonzero(np.arange(next_rv.shape[1]) < needed_r[:, None])
    # Equal ones go round the rows, not to the first one.
    order = np.lexsort((row_k, van_k, -next_rv[row_k, van_k]))[:vans]
    return np.bincount(row_k[order], minlength=len(needed_r))


def undelivered(case_rs: np.ndarray, capacity: float, vans_r: np.ndarray) -> np.ndarray:
    """Orders that the vans of each row are expected not to carry."""
    return np.maximum(case_rs - capacity * vans_r[:, None], 0.0).mean(axis=1)


def service_level(
    case_rs: np.ndarray, capacity: float, vans_r: np.ndarray
) -> np.ndarray:
    """How likely the vans of each row carry all of its orders."""
    return (case_rs <= capacity * vans_r[:, None] + NOTHING).mean(axis=1)
