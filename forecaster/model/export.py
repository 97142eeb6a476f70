"""Exports trained weights to an artefact, if NumPy and Flax agree on its forecasts."""

import functools
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import jax
import numpy as np
from flax import traverse_util
from jaxtyping import Array, Float

from forecaster.data import inputs
from forecaster.data.calendar_features import SEASON_COLUMNS
from forecaster.data.inputs import Slices
from forecaster.errors import ArtefactError
from forecaster.inference import numpy_model
from forecaster.inference.artefact import Artefact
from forecaster.inference.forecast_checks import PARITY_LIMIT
from forecaster.model.model import DepotForecaster
from forecaster.model.train_step import FLOAT32, Params

EMBEDDINGS = "depots/embedding"
LIBRARIES = ("jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "numpy")
MAX_DIFFERENCE, SHARE = 0.01, 0.99
"""Largest difference of a forecast over fewer context days, log counts (0.01 is a percent of
the orders), and the share of forecasts that must stay within it."""
STEP_DAYS = 8
"""Step, in days, of the search for the effective context."""


def flat_weights(params: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Flattens Flax's parameter tree to paths, such as `gru_1/ir/kernel`."""
    flat = traverse_util.flatten_dict(params, sep="/")
    return {path: np.asarray(value, np.float32) for path, value in flat.items()}


def without_columns(params: Mapping[str, Any], n_columns: int) -> dict[str, Any]:
    """Returns the parameters without influence of the calendar's leading columns.

    They were 0 in training, so that the kernels' rows are still those of the first step.
    """
    season = min(n_columns, SEASON_COLUMNS)
    return dict(params) | {
        "calendar": _without_rows(params["calendar"], n_columns),
        # An embedding's answer does not read the season.
        "answer": _without_rows(params["answer"], n_columns - season),
    }


def _without_rows(layer: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
    kernel_mfu = np.array(layer["kernel"])
    kernel_mfu[:, :n_rows] = 0.0
    return dict(layer) | {"kernel": kernel_mfu}


def trim_padding(
    weights: dict[str, np.ndarray], n_depots: int
) -> dict[str, np.ndarray]:
    """Returns the weights without the padding rows of the embedding table."""
    rows = {EMBEDDINGS: weights[EMBEDDINGS][:, : n_depots + 1]}
    return weights | rows


def library_versions() -> dict[str, str]:
    """Versions of the libraries that influence the weights."""
    return {name: version(name) for name in LIBRARIES}


def with_parity(
    artefact: Artefact, params: Mapping[str, Any], slices: Slices
) -> Artefact:
    """Measures the parity error, and returns the artefact with it.

    Args:
      artefact: Artefact exported from `params`.
      params: Flax's parameters.
      slices: Windows to compare on, with a batch axis.

    Raises:
      ArtefactError: NumPy and Flax differ by more than 1e-5 log counts.
    """
    flax_bh = flax_forecast(artefact, params, slices)
    error = float(np.abs(_numpy_forecast(artefact, slices) - flax_bh).max())
    if not error <= PARITY_LIMIT:
        raise ArtefactError(
            f"NumPy and Flax differ by {error:.1e} log counts, but at most "
            f"{PARITY_LIMIT:.0e} is allowed: the model is not published. Train anew, and "
            "report this with the versions 'harbor doctor' shows."
        )
    return replace(artefact, parity_error=float(f"{error:.1e}"))


def effective_context_days(artefact: Artefact, slices: Slices) -> int:
    """Returns the fewest context days that give the forecasts of the whole context.

    The influence of the earliest days is measured once, so that serving computes only
    those that matter.

    Args:
      artefact: Weights and task of the network.
      slices: Windows to compare on, with a batch axis and the task's context.
    """
    full_bh = _numpy_forecast(artefact, slices)
    for days in range(2 * STEP_DAYS, artefact.task.context, STEP_DAYS):
        short = inputs.shorten_context(slices, artefact.horizon, days)
        difference_bh = np.abs(_numpy_forecast(artefact, short) - full_bh)
        if np.quantile(difference_bh, SHARE) <= MAX_DIFFERENCE:
            return days
    return artefact.task.context


def _numpy_forecast(
    artefact: Artefact, slices: Slices
) -> Float[np.ndarray, "batch horizon"]:
    """NumPy's forecast from the last context day of each window."""
    baseline_boh, correction_boh = numpy_model.Network(artefact).forward(slices)
    return (baseline_boh + correction_boh)[:, 0]


def flax_forecast(
    artefact: Artefact, params: Mapping[str, Any], slices: Slices
) -> Float[np.ndarray, "batch horizon"]:
    """Flax's forecast from the last context day of each window, mean of the members."""
    capacity = params["depots"]["embedding"].shape[1]
    module = DepotForecaster(artefact.horizon, artefact.model, capacity)
    return np.asarray(_newest(module, params, slices)).mean(axis=0)


# At module level, so that the next export reuses the compiled function.
@functools.partial(jax.jit, static_argnums=0)
def _newest(module: DepotForecaster, params: Params, slices: Slices) -> Array:
    """Forecast of each member from the last context day of each window, [member, B, H]."""

    def of_window(member: Params, one: Slices) -> Array:
        with jax.default_matmul_precision(FLOAT32):
            return jax.numpy.asarray(module.apply({"params": member}, one))[-1]

    of_windows = jax.vmap(of_window, in_axes=(None, 0))
    return jax.vmap(of_windows, in_axes=(0, None))(params, slices)
