"""From trained weights to an artefact, refused if NumPy and Flax disagree."""

from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from forecaster import inputs, network
from forecaster.artefact import Artefact
from forecaster.errors import ArtefactError
from forecaster.inputs import Slices
from forecaster.model import DepotForecaster
from forecaster.train import Params

PARITY_LIMIT = 1e-5
SHORT_CONTEXT = 7
EMBEDDINGS = "depots/embedding"
LIBRARIES = ("jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "numpy")


def flat_weights(params: Mapping[str, Any], above: str = "") -> dict[str, np.ndarray]:
    """Flax's tree of parameters by path, such as `gru_1/ir/kernel`."""
    weights: dict[str, np.ndarray] = {}
    for name, value in params.items():
        path = f"{above}{name}"
        if isinstance(value, Mapping):
            weights |= flat_weights(value, f"{path}/")
        else:
            weights[path] = np.asarray(value, np.float32)
    return weights


def without_room(
    weights: dict[str, np.ndarray], n_depots: int
) -> dict[str, np.ndarray]:
    """The weights without the rows of embeddings that are no depot's."""
    rows = {EMBEDDINGS: weights[EMBEDDINGS][:, : n_depots + 1]}
    return weights | rows


def library_versions() -> dict[str, str]:
    """Of the libraries that decide the weights."""
    return {name: version(name) for name in LIBRARIES}


def with_parity(
    artefact: Artefact, params: Mapping[str, Any], slices: Slices
) -> Artefact:
    """The artefact with its parity error measured.

    Args:
      artefact: Made of `params`.
      params: Flax's.
      slices: Windows to compare on, with a batch axis.

    Raises:
      ArtefactError: NumPy and Flax differ by more than 1e-5 log counts, or Flax differs
        from itself when its operations run one by one.
    """
    compiled = _gap(artefact, params, slices)
    with jax.disable_jit():
        plain = _gap(artefact, params, _one_short(slices, artefact.task.horizon))
    error = max(compiled, plain)
    if not error <= PARITY_LIMIT:
        raise ArtefactError(
            f"NumPy and Flax differ by {error:.1e} log counts, but at most "
            f"{PARITY_LIMIT:.0e} is allowed: the model is not published. Train anew, and "
            "report this with the versions 'harbor doctor' shows."
        )
    return replace(artefact, parity_error=float(f"{error:.1e}"))


def flax_forecast(
    artefact: Artefact, params: Mapping[str, Any], slices: Slices
) -> Float[np.ndarray, "batch horizon"]:
    """What Flax says from the last context day of each window, mean of the members."""
    room = params["depots"]["embedding"].shape[1]
    module = DepotForecaster(artefact.horizon, artefact.model, room)

    def newest(member: Params, one: Slices) -> jax.Array:
        return jax.numpy.asarray(module.apply({"params": member}, one))[-1]

    of_windows = jax.vmap(newest, in_axes=(None, 0))
    said_kbh = jax.jit(jax.vmap(of_windows, in_axes=(0, None)))(params, slices)
    return np.asarray(said_kbh).mean(axis=0)


def _gap(artefact: Artefact, params: Mapping[str, Any], slices: Slices) -> float:
    """Largest difference between NumPy and Flax on these windows, log counts."""
    flax_bh = flax_forecast(artefact, params, slices)
    plain_boh, correction_boh = network.forward(artefact, slices)
    return float(np.abs((plain_boh + correction_boh)[:, 0] - flax_bh).max())


def _one_short(slices: Slices, horizon: int) -> Slices:
    """The end of the first window: operations one by one take a second a day."""
    first = Slices(*(value[:1] for value in slices))
    return inputs.newest(first, horizon, context=SHORT_CONTEXT)
