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

from forecaster.data.calendar_features import SEASON_COLUMNS
from forecaster.data.inputs import Windows
from forecaster.errors import ArtefactError
from forecaster.inference.artefact import Artefact
from forecaster.inference.forecast_checks import PARITY_LIMIT
from forecaster.model.model import DepotForecaster
from forecaster.model.train_step import FLOAT32, Params

EMBEDDINGS = "depots/embedding"
LIBRARIES = ("jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "numpy")


def flat_weights(params: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Flattens Flax's parameter tree to paths, such as `gru_1/ir/kernel`."""
    flat = traverse_util.flatten_dict(params, sep="/")
    return {path: np.asarray(value, np.float32) for path, value in flat.items()}


def zero_unidentified_rows(
    params: Mapping[str, Any], n_unidentified: int
) -> dict[str, Any]:
    """Zeroes the kernel rows of the calendar's leading inputs that were not identified.

    These inputs were 0 throughout training, so their rows hold untrained initial values.
    """
    n_season = min(n_unidentified, SEASON_COLUMNS)
    return dict(params) | {
        "calendar": _zero_rows(params["calendar"], n_unidentified),
        # The embedding's response does not read the season.
        "answer": _zero_rows(params["answer"], n_unidentified - n_season),
    }


def _zero_rows(layer: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
    """Zeroes the leading rows of a layer's kernel, [member, feature, unit]."""
    kernel_mfu = np.array(layer["kernel"])
    kernel_mfu[:, :n_rows] = 0.0
    return dict(layer) | {"kernel": kernel_mfu}


def trim_padding(
    weights: dict[str, np.ndarray], n_depots: int
) -> dict[str, np.ndarray]:
    """Returns the weights without the padding rows of the embedding table."""
    # Row 0 is for depots without an embedding.
    rows = {EMBEDDINGS: weights[EMBEDDINGS][:, : n_depots + 1]}
    return weights | rows


def library_versions() -> dict[str, str]:
    """Versions of the libraries that influence the weights."""
    return {name: version(name) for name in LIBRARIES}


def measure_parity(
    artefact: Artefact, params: Mapping[str, Any], windows: Windows
) -> Artefact:
    """Measures the parity error of NumPy and Flax, and records it in the artefact.

    The artefact was exported from `params`; the windows have a batch axis.

    Raises:
      ArtefactError: NumPy and Flax differ by more than 1e-5 log counts.
    """
    baseline_bh, correction_bh = artefact.network.forward(windows)
    numpy_bh = baseline_bh + correction_bh
    error = float(np.abs(numpy_bh - flax_forecast(artefact, params, windows)).max())
    if not error <= PARITY_LIMIT:
        raise ArtefactError(
            f"NumPy and Flax differ by {error:.1e} log counts, but at most "
            f"{PARITY_LIMIT:.0e} is allowed: the model is not published. Train again, and "
            "report this with the versions 'harbor doctor' shows."
        )
    return replace(artefact, parity_error=float(f"{error:.1e}"))


def flax_forecast(
    artefact: Artefact, params: Mapping[str, Any], windows: Windows
) -> Float[np.ndarray, "batch horizon"]:
    """Flax's forecast from the last context day of each window, mean of the members."""
    capacity = params["depots"]["embedding"].shape[1]
    module = DepotForecaster(artefact.horizon, artefact.model, capacity)
    return np.asarray(_forecast_members(module, params, windows)).mean(axis=0)


# At module level, so that the next export reuses the compiled function.
@functools.partial(jax.jit, static_argnums=0)
def _forecast_members(
    module: DepotForecaster, params: Params, windows: Windows
) -> Array:
    """Forecast of each member from the last context day of each window, [member, B, H]."""

    def forecast_window(member: Params, window: Windows) -> Array:
        with jax.default_matmul_precision(FLOAT32):
            forecast_oh = module.apply({"params": member}, window, slice(-1, None))
            return jax.numpy.asarray(forecast_oh)[0]

    forecast_windows = jax.vmap(forecast_window, in_axes=(None, 0))
    return jax.vmap(forecast_windows, in_axes=(0, None))(params, windows)
