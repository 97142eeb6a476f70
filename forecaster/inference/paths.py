"""Paths: equally likely outcomes for all depots and days ahead, to estimate probabilities.

"Does the fleet need more than 150 vans on Friday?" and "is Rotterdam short on any day of the
week?" depend on the correlation of depots and days. Each path replays the errors of one origin of
last year, as ranks, city by city, which keeps the correlation of days and cities without a
parameter. Each depot's day gets noise of its own, in the proportion that gives the city's total its
band; errors and noise together are mapped to orders by the depot's P10, P50 and P90.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from jaxtyping import Float, Float32

from forecaster.inference.baseline_errors import NORMAL_HIGH, BaselineErrors
from forecaster.inference.totals import FLEET, QuantileForecasts, Total, TotalErrors

N_PATHS = 364
MIN_ORIGINS = 56
"""Minimum origins with known errors; a shorter history is not replayed."""
DEFAULT_PERSISTENCE = 0.3
SEED = 20_251_121
"""Fixed, so that the same forecast always gives the same probabilities."""
BAND_SIGMAS = 2 * NORMAL_HIGH
"""Width of an 80 % band in standard deviations."""


@dataclass(frozen=True)
class PathTable:
    """Errors from the year's origins, to be replayed.

    Attributes:
      cities: Cities, in the order of the rows; none in a short history.
      error_och: Errors of each city's total from each origin, as normal scores.
      persistence: Correlation of a depot's noise (without common errors) between days ahead.
    """

    cities: tuple[str, ...]
    error_och: Float32[np.ndarray, "origin city horizon"]
    persistence: float = DEFAULT_PERSISTENCE


def no_history(horizon: int) -> PathTable:
    """Returns the table for a short history: days are independent, cities fully correlated."""
    return PathTable((), np.zeros((0, 0, horizon), np.float32))


def calibrate(
    errors: TotalErrors, level: float, depots: BaselineErrors, horizon: int
) -> PathTable:
    """Stores the ranks of the errors from the year's origins, as normal scores.

    `errors` are of every city's total; the persistence is estimated from `depots`, a sample.
    """
    unit_coh = np.where(errors.ahead.unit > 0, errors.ahead.unit, np.nan)
    score_coh = errors.error_coh(level) / unit_coh
    is_whole_o = np.isfinite(score_coh).any(axis=0).all(axis=-1)
    if is_whole_o.sum() < MIN_ORIGINS:
        return no_history(horizon)
    score_och = score_coh[:, is_whole_o].swapaxes(0, 1)
    # A city without a known error gets the mean of the other cities.
    score_och = np.where(
        np.isfinite(score_och), score_och, np.nanmean(score_och, axis=1, keepdims=True)
    )
    return PathTable(errors.cities, _normal_scores(score_och), _persistence(depots))


def sample(
    table: PathTable,
    forecasts: QuantileForecasts,
    totals: Sequence[Total],
    cities: Sequence[str],
    n_paths: int = N_PATHS,
) -> Float[np.ndarray, "path depot horizon"]:
    """Draws paths of the orders per day of every depot.

    Each depot's day keeps its quantiles. The totals of cities and of the fleet keep their bands as
    far as correlations between 0 and 1 allow.

    Args:
      table: From `calibrate`; its horizon may be longer than the forecasts'.
      forecasts: Quantiles of the depots, [depot, horizon].
      totals: Bands of each city's total and, if known, of the fleet's. The depots of a city
        without a band are fully correlated.
      cities: City of each depot.
      n_paths: Number of paths to draw.
    """
    n_depots, horizon = forecasts.p50.shape
    rng = np.random.default_rng(SEED)
    names = sorted(set(cities))
    city_d = np.searchsorted(names, cities)
    band_of = {total.city: total.p90_h - total.p10_h for total in totals}
    sigma_dh = (forecasts.p90 - forecasts.p10) / BAND_SIGMAS
    share_ch, sigma_ch = np.ones((2, len(names), horizon))
    own_sdh = np.zeros((n_paths, n_depots, horizon), np.float32)
    for row, name in enumerate(names):
        here_d = city_d == row
        sigma_rh = sigma_dh[here_d]
        together_h = sigma_rh.sum(axis=0)
        sigma_ch[row] = band_of.get(name, BAND_SIGMAS * together_h) / BAND_SIGMAS
        share_ch[row] = _common_share(sigma_rh, sigma_ch[row])
        own_sdh[:, here_d] = _own_noise(table, name, (n_paths, len(sigma_rh), horizon))
    common_sch = _replayed(table, names, horizon, n_paths, rng)
    if FLEET in band_of:
        common_sch = _with_fleet_band(
            common_sch, sigma_ch, band_of[FLEET] / BAND_SIGMAS, rng
        )
    share_dh = share_ch[city_d].astype(np.float32)
    z_sdh = np.sqrt(share_dh) * common_sch[:, city_d] + np.sqrt(1 - share_dh) * own_sdh
    return orders_at(forecasts, z_sdh)


def _own_noise(
    table: PathTable, city: str, shape: tuple[int, int, int]
) -> Float32[np.ndarray, "path depot horizon"]:
    """Noise of a city's depots, which does not depend on the other cities drawn."""
    rng = np.random.default_rng((SEED, zlib.crc32(city.encode())))
    daily_sdh = rng.standard_normal(shape, np.float32)
    constant_sd1 = rng.standard_normal((*shape[:2], 1), np.float32)
    share = np.float32(table.persistence)
    noise_sdh: np.ndarray = (
        np.sqrt(share) * constant_sd1 + np.sqrt(1 - share) * daily_sdh
    )
    return noise_sdh


def orders_at(
    forecasts: QuantileForecasts, z: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    """Orders that lie `z` standard deviations above the median, in log counts.

    The distribution is normal with a separate width on either side, which gives it the
    forecast's three quantiles. The arrays are broadcast.
    """
    p10, median, p90 = (np.log1p(each) for each in forecasts)
    side = np.where(z > 0, p90 - median, median - p10).astype(z.dtype)
    log = median.astype(z.dtype) + z * side / z.dtype.type(NORMAL_HIGH)
    orders = np.maximum(np.expm1(log), 0.0)
    # Without width the number is certain: rounded up or down, it would need another van.
    return np.where(side == 0, forecasts.p50.astype(z.dtype), orders)


def _common_share(
    sigma_rh: Float[np.ndarray, "row horizon"], total_h: Float[np.ndarray, " horizon"]
) -> Float[np.ndarray, " horizon"]:
    """Correlation of all rows, 0 to 1, at which their sum has the standard deviation `total_h`."""
    alone_h, together_h = (sigma_rh**2).sum(axis=0), sigma_rh.sum(axis=0) ** 2
    has_both_h = together_h > alone_h * (1 + 1e-9)
    share_h = np.divide(
        total_h**2 - alone_h,
        together_h - alone_h,
        out=np.ones_like(total_h),
        where=has_both_h,
    )
    return np.clip(share_h, 0.0, 1.0)


def _replayed(
    table: PathTable,
    names: Sequence[str],
    horizon: int,
    n_paths: int,
    rng: np.random.Generator,
) -> Float32[np.ndarray, "path city horizon"]:
    """Common errors of each city's depots, replayed from the year's origins in a cycle."""
    if not len(table.error_och):
        common_sh = rng.permuted(_deviates(n_paths)[:, None].repeat(horizon, 1), axis=0)
        return common_sh[:, None].repeat(len(names), axis=1)
    n_origins = len(table.error_och)
    # Successive origins are alike, so a small number of paths is spread over the year.
    origin_s = np.arange(n_paths) * max(1, n_origins // n_paths) % n_origins
    row_of = {city: row for row, city in enumerate(table.cities)}
    # A new city replays the errors of the first city.
    row_c = [row_of.get(name, 0) for name in names]
    return table.error_och[origin_s][:, row_c, :horizon]


def _with_fleet_band(
    common_sch: Float32[np.ndarray, "path city horizon"],
    sigma_ch: Float[np.ndarray, "city horizon"],
    fleet_h: Float[np.ndarray, " horizon"],
    rng: np.random.Generator,
) -> Float32[np.ndarray, "path city horizon"]:
    """Mixes in a draw common to all cities, where the fleet's band needs more correlation.

    This is the case on holidays, whose effect is misjudged everywhere at once.
    """
    needed_h = _common_share(sigma_ch, fleet_h)
    replayed_h = _common_share(
        sigma_ch, (common_sch * sigma_ch).sum(axis=1).std(axis=0)
    )
    share_h = np.divide(
        needed_h - replayed_h,
        1 - replayed_h,
        out=np.zeros_like(needed_h),
        where=replayed_h < 1,
    )
    share_h = np.clip(share_h, 0.0, 1.0).astype(np.float32)
    drawn_s1h = rng.standard_normal((len(common_sch), 1, len(share_h)), np.float32)
    return np.sqrt(1 - share_h) * common_sch + np.sqrt(share_h) * drawn_s1h


def _normal_scores(
    value_och: Float[np.ndarray, "origin city horizon"],
) -> Float32[np.ndarray, "origin city horizon"]:
    """Standard normal deviates, ranked over origins as the values are."""
    rank_och = value_och.argsort(axis=0).argsort(axis=0)
    return _deviates(len(value_och))[rank_och]


def _deviates(number: int) -> Float32[np.ndarray, " rank"]:
    """`number` evenly spaced quantiles of the standard normal distribution, smallest first."""
    shares = ((rank + 0.5) / number for rank in range(number))
    return np.array([NormalDist().inv_cdf(share) for share in shares], np.float32)


def _persistence(errors: BaselineErrors) -> float:
    """Correlation of successive days ahead, in depots' errors less the mean over depots."""
    score_doh = np.clip(errors.error_doh / errors.spread_do[..., None], -5, 5)
    known_doh = np.isfinite(score_doh)
    n_known_oh = np.maximum(known_doh.sum(axis=0), 1)
    mean_oh = np.where(known_doh, score_doh, 0.0).sum(axis=0) / n_known_oh
    own_doh = score_doh - mean_oh
    is_both_doh = known_doh[..., :-1] & known_doh[..., 1:]
    first_r, second_r = own_doh[..., :-1][is_both_doh], own_doh[..., 1:][is_both_doh]
    if len(score_doh) < 2 or not (first_r.any() and second_r.any()):
        return DEFAULT_PERSISTENCE
    return float(np.clip(np.corrcoef(first_r, second_r)[0, 1], 0.0, 0.9))
