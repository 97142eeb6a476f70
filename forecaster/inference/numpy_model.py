"""The forward pass of `model.DepotForecaster` in NumPy, without JAX."""

import numpy as np
from jaxtyping import Float32

from forecaster.data import inputs, windows
from forecaster.data.calendar_features import SEASON_COLUMNS
from forecaster.data.features import Features
from forecaster.data.inputs import FutureFeatures, Slices
from forecaster.errors import ArtefactError
from forecaster.inference.artefact import Artefact
from forecaster.inference.numpy_gru import Layer, last_states

Weights = dict[str, np.ndarray]


class Network:
    """The members of an artefact, ready to run."""

    def __init__(self, artefact: Artefact) -> None:
        self._horizon = artefact.horizon
        self._members = [
            _Member(artefact.member(number)) for number in range(artefact.n_members)
        ]

    def forward(
        self, slices: Slices, n_origins: int = 1
    ) -> tuple[
        Float32[np.ndarray, "batch origin horizon"],
        Float32[np.ndarray, "batch origin horizon"],
    ]:
        """Returns the baseline forecast from the last context days, and the network's correction.

        Args:
          slices: Windows with a batch axis.
          n_origins: Number of last context days that are origins.

        Returns:
          Both in log counts; the correction is the mean of the members.
        """
        past_bcf = np.asarray(inputs.past(np, slices, self._horizon))
        near = inputs.shorten_context(slices, self._horizon, n_origins)
        future = inputs.future(np, near, self._horizon)
        corrections = [
            member.correction(slices, past_bcf, future) for member in self._members
        ]
        return np.asarray(future.baseline), np.mean(corrections, axis=0)


def require_same_inputs(artefact: Artefact, features: Features) -> None:
    """Raises unless the artefact was trained on the inputs that this program builds.

    Raises:
      ArtefactError: a column differs.
    """
    trained, built = artefact.feature_names, inputs.column_names(features)
    if trained != built:
        other = sorted({*trained} ^ {*built})
        raise ArtefactError(
            f"The model was trained with other inputs: {len(trained)} columns, and this "
            f"program makes {len(built)}. They differ in {', '.join(other[:5]) or 'order'}. "
            "Train again."
        )


class _Member:
    """One member of the network: `model.DepotForecaster` with its weights."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._layers = (Layer.of(weights, "gru_1"), Layer.of(weights, "gru_2"))

    def correction(
        self,
        slices: Slices,
        past_bcf: Float32[np.ndarray, "batch context feature"],
        future: FutureFeatures,
    ) -> Float32[np.ndarray, "batch origin horizon"]:
        """Correction to the baseline forecasts of the days after each origin."""
        weights = self._weights
        context, (n_origins, horizon) = past_bcf.shape[1], future.baseline.shape[1:]
        day_bsm = _dense(weights, "calendar", np.asarray(slices.calendar))
        today_bcf = np.concatenate([past_bcf, day_bsm[:, :context]], axis=-1)
        today_cfb = np.ascontiguousarray(np.transpose(today_bcf, (1, 2, 0)))
        state_bou = last_states(self._layers, today_cfb, n_origins)
        origin_bof = np.concatenate([state_bou, past_bcf[:, -n_origins:]], axis=-1)
        near_bsm = day_bsm[:, context - n_origins :] + _depot_effect(
            weights, slices, context - n_origins
        )
        ahead_bohm = windows.days_ahead(np, near_bsm, n_origins, horizon)
        future_bohm = future.features @ weights["target/kernel"]
        sum_bohm = _silu(ahead_bohm + _from_origin(weights, origin_bof) + future_bohm)
        mixed_bohm = _silu(_dense(weights, "mix", sum_bohm))
        return _dense(weights, "correction", mixed_bohm)[..., 0]


def _from_origin(
    weights: Weights, origin_bof: Float32[np.ndarray, "batch origin feature"]
) -> Float32[np.ndarray, "batch origin horizon hidden"]:
    """Projects the state of each origin onto each day ahead, in one product."""
    kernel_fhm, bias_hm = weights["origin/kernel"], weights["origin/bias"]
    projected = origin_bof @ kernel_fhm.reshape(len(kernel_fhm), -1)
    return projected.reshape(*origin_bof.shape[:2], *bias_hm.shape) + bias_hm


def _depot_effect(
    weights: Weights, slices: Slices, first: int
) -> Float32[np.ndarray, "batch day hidden"]:
    """Effect of each depot's embedding on the days from `first` on."""
    row_b = np.asarray(slices.depot).astype(int)
    embedding_be = weights["depots/embedding"][row_b] * (row_b > 0)[:, None]
    gain_bm = embedding_be @ weights["gain/kernel"]
    day_bsf = slices.calendar[:, first:, SEASON_COLUMNS:]
    response_bsm = gain_bm[:, None] * (day_bsf @ weights["answer/kernel"])
    return response_bsm + (embedding_be @ weights["own/kernel"])[:, None]


def _dense(weights: Weights, name: str, value: np.ndarray) -> np.ndarray:
    return value @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]


def _sigmoid(value: np.ndarray) -> np.ndarray:
    # By tanh: exp of a large negative number would overflow.
    return np.float32(0.5) * (np.tanh(np.float32(0.5) * value) + 1)


def _silu(value: np.ndarray) -> np.ndarray:
    return value * _sigmoid(value)
