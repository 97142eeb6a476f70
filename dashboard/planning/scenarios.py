"""Joint scenarios of a city's depots on a day, and the chance that its vans suffice.

The forecast has three quantiles of each depot and the 80 % band of the city's total. The
depots' days are drawn with these quantiles, and with the one correlation between depots
that gives the total its band.
"""

import numpy as np

from dashboard.planning import depot_vans

N_SCENARIOS = 400
SEED = 20_251_121
"""Fixed, so that the same forecast always has the same chance."""
BAND_SIGMAS = 2 * depot_vans.Z90
"""Width of an 80 % band in standard deviations."""


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
    return depot_vans.orders_at(p10_r[:, None], p50_r[:, None], p90_r[:, None], z_rs)


def correlation(width_r: np.ndarray, total_band: tuple[float, float]) -> float:
    """The correlation between depots that gives their total its 80 % band, 0 to 1."""
    sigma_r = width_r / BAND_SIGMAS
    alone, together = (sigma_r**2).sum(), sigma_r.sum() ** 2
    if together <= alone:
        return 1.0
    total = ((total_band[1] - total_band[0]) / BAND_SIGMAS) ** 2
    return float(np.clip((total - alone) / (together - alone), 0.0, 1.0))


def delivery_probability(
    orders_rs: np.ndarray, orders_per_van: float, vans: int
) -> float:
    """Probability that the vans carry all orders of a city on a day.

    They may be moved between its depots that morning, but a van serves one depot.
    """
    return float((_vans_by_scenario(orders_rs, orders_per_van) <= vans).mean())


def vans_needed(orders_rs: np.ndarray, orders_per_van: float, level: float) -> int:
    """The fewest vans with which `delivery_probability` reaches a level between 0 and 1."""
    needed_s = np.sort(_vans_by_scenario(orders_rs, orders_per_van))
    return int(needed_s[int(np.ceil(level * len(needed_s) - 1e-9)) - 1])


def _vans_by_scenario(orders_rs: np.ndarray, orders_per_van: float) -> np.ndarray:
    return depot_vans.vans_for(orders_rs, orders_per_van).sum(axis=0)
