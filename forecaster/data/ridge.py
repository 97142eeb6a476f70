"""Ridge regression whose prior standard deviations are estimated from data (empirical Bayes)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

EM_STEPS = 4
MIN_OWN_ROWS = 8
"""Minimum rows in one regression for a column to have a standard deviation of its own."""
PRIOR_COLUMNS = 0.5
"""Weight of the given standard deviations, as a number of fitted columns."""


class Rows(NamedTuple):
    """Rows of a regression."""

    value_rf: Float[np.ndarray, "row feature"]
    # One over the variance of the noise.
    weight_r: Float[np.ndarray, " row"]
    target_r: Float[np.ndarray, " row"]


class Coefficients(NamedTuple):
    """Posterior mean and covariance of a regression's coefficients."""

    mean_f: Float[np.ndarray, " feature"]
    covariance_ff: Float[np.ndarray, "feature feature"]

    @property
    def variance_f(self) -> Float[np.ndarray, " feature"]:
        """Posterior variance of each coefficient."""
        return np.diag(self.covariance_ff)


def fit_ridge(rows: Rows, prior_sd_f: Float[np.ndarray, " feature"]) -> Coefficients:
    """Fits coefficients whose priors are normal around 0, with these standard deviations."""
    weighted_rf = rows.value_rf * rows.weight_r[:, None]
    precision_ff = weighted_rf.T @ rows.value_rf + np.diag(prior_sd_f**-2.0)
    covariance_ff = np.linalg.inv(precision_ff)
    mean_f = covariance_ff @ (weighted_rf.T @ rows.target_r)
    return Coefficients(mean_f, covariance_ff)


def estimate_prior_sds(
    regressions: Sequence[Rows],
    prior_f: Float[np.ndarray, " feature"],
    family_f: Int[np.ndarray, " feature"],
    own_most_f: Float[np.ndarray, " feature"] | None = None,
) -> Float[np.ndarray, " feature"]:
    """Estimates the prior standard deviations of several regressions' coefficients by EM.

    Args:
      regressions: Regressions on the same columns; one in which a column is always 0 does
        not inform that column's standard deviation.
      prior_f: Standard deviations before any data. They are also the upper limits, so that
        one odd day does not widen its whole family.
      family_f: Columns of one family share their standard deviation.
      own_most_f: Upper limits for columns with `MIN_OWN_ROWS` rows in a regression, which get
        a standard deviation of their own; None gives every column its family's.
    """
    most_f = prior_f
    n_rows_pf = np.stack([(rows.value_rf != 0).sum(axis=0) for rows in regressions])
    has_data_pf = n_rows_pf > 0
    if own_most_f is not None:
        is_own_f = n_rows_pf.max(axis=0) >= MIN_OWN_ROWS
        family_f = np.where(is_own_f, -1 - np.arange(len(family_f)), family_f)
        most_f = np.where(is_own_f, own_most_f, most_f)
    prior_sd_f = prior_f
    for _ in range(EM_STEPS):
        fits = [fit_ridge(rows, prior_sd_f) for rows in regressions]
        square_pf = np.stack([fit.mean_f**2 + fit.variance_f for fit in fits])
        prior_sd_f = prior_sd_f.copy()
        for family in np.unique(family_f):
            here_f = family_f == family
            used = has_data_pf[:, here_f]
            total = (square_pf[:, here_f] * used).sum()
            total += PRIOR_COLUMNS * prior_f[here_f][0] ** 2
            fitted = np.sqrt(total / (used.sum() + PRIOR_COLUMNS))
            prior_sd_f[here_f] = np.minimum(fitted, most_f[here_f])
    return prior_sd_f
