"""The forward pass in NumPy: what `model.DepotForecaster` computes, without JAX."""

import numpy as np
from jaxtyping import Float32

from forecaster import inputs, windows
from forecaster.artefact import Artefact
from forecaster.calendar_columns import SEASON_COLUMNS
from forecaster.errors import ArtefactError
from forecaster.features import Features
from forecaster.inputs import Slices, Targets

Weights = dict[str, np.ndarray]


def forward(
    artefact: Artefact, slices: Slices, span: int = 1
) -> tuple[
    Float32[np.ndarray, "batch origin horizon"],
    Float32[np.ndarray, "batch origin horizon"],
]:
    """The plain forecast from the last context days, and what the members add to it.

    Args:
      artefact: Its weights.
      slices: As the network takes them, with a batch axis.
      span: How many of their last context days are origins.

    Returns:
      Log counts; the second is the mean of the members.
    """
    horizon = artefact.task.horizon
    past_bcf = inputs.past(np, slices, horizon)
    targets = inputs.targets(np, inputs.newest(slices, horizon, span), horizon)
    corrections = [
        _correction(artefact.member(number), slices, past_bcf, targets)
        for number in range(artefact.n_members)
    ]
    return _corrected(artefact, targets), np.mean(corrections, axis=0)


def require_same_inputs(artefact: Artefact, features: Features) -> None:
    """Refuses an artefact that was trained for other inputs than this program makes.

    Raises:
      ArtefactError: its widths or its calendar columns differ.
    """
    weights, units = artefact.weights, artefact.model.units
    widths = (
        weights["origin/kernel"].shape[1] - units,
        weights["target/kernel"].shape[1],
    )
    if widths[0] != inputs.PAST_COLUMNS or widths[1] > inputs.TARGET_COLUMNS:
        raise ArtefactError(
            f"The model was trained with other inputs ({widths[0]} and {widths[1]} "
            f"columns; this program makes {inputs.PAST_COLUMNS} and "
            f"{inputs.TARGET_COLUMNS}). Train anew."
        )
    if features.names != artefact.feature_names:
        raise ArtefactError(
            f"The model was trained with {len(artefact.feature_names)} calendar columns "
            f"and this program makes {len(features.names)}, or others. Train anew."
        )


def _corrected(
    artefact: Artefact, targets: Targets
) -> Float32[np.ndarray, "batch origin horizon"]:
    """The plain forecast that this network corrects: an older one, of weekdays alone."""
    knows_smoothing = (
        artefact.weights["target/kernel"].shape[1] >= inputs.SMOOTHING_KNOWN
    )
    return targets.plain if knows_smoothing else targets.middle


def _correction(
    weights: Weights,
    slices: Slices,
    past_bcf: Float32[np.ndarray, "batch context feature"],
    targets: Targets,
) -> Float32[np.ndarray, "batch origin horizon"]:
    """What `model.DepotForecaster` adds to the plain forecasts of the last days."""
    context, (span, horizon) = past_bcf.shape[1], targets.plain.shape[1:]
    day_bsm = _dense(weights, "calendar", slices.calendar)
    today_bcf = np.concatenate([past_bcf, day_bsm[:, :context]], axis=-1)
    state_bcu = _gru(weights, "gru_2", _gru(weights, "gru_1", today_bcf))
    origin_bof = np.concatenate([state_bcu, past_bcf], axis=-1)[:, -span:]
    near_bsm = day_bsm[:, context - span :] + _own(weights, slices, context - span)
    ahead_bohm = windows.days_ahead(np, near_bsm, span, horizon)
    target_fm = weights["target/kernel"]
    # An older network knows fewer columns: those it lacks were added behind its own.
    target_bohm = targets.features[..., : len(target_fm)] @ target_fm
    sum_bohm = _silu(ahead_bohm + _from_origin(weights, origin_bof) + target_bohm)
    mixed_bohm = _silu(_dense(weights, "mix", sum_bohm))
    return _dense(weights, "correction", mixed_bohm)[..., 0]


def _from_origin(
    weights: Weights, origin_bof: Float32[np.ndarray, "batch origin feature"]
) -> Float32[np.ndarray, "batch origin horizon hidden"]:
    """What each origin says to each day ahead: one product for all of them."""
    kernel_fhm, bias_hm = weights["origin/kernel"], weights["origin/bias"]
    said = origin_bof @ kernel_fhm.reshape(len(kernel_fhm), -1)
    return said.reshape(*origin_bof.shape[:2], *bias_hm.shape) + bias_hm


def _own(
    weights: Weights, slices: Slices, first: int
) -> Float32[np.ndarray, "batch day hidden"]:
    """What is each depot's own on the days from `first` on."""
    number_b = slices.depot.astype(int)
    embedding_be = weights["depots/embedding"][number_b] * (number_b > 0)[:, None]
    gain_bm = embedding_be @ weights["gain/kernel"]
    day_bsk = slices.calendar[:, first:, SEASON_COLUMNS:]
    answer_bsm = gain_bm[:, None] * (day_bsk @ weights["answer/kernel"])
    return answer_bsm + (embedding_be @ weights["own/kernel"])[:, None]


def _gru(
    weights: Weights, name: str, input_bcf: Float32[np.ndarray, "batch context feature"]
) -> Float32[np.ndarray, "batch context unit"]:
    """One GRU layer with Flax's gates: r and z carry one bias, n carries two.

    The products with the input are taken for all days at once; only those with the
    state have to wait for each other. A gate g is 1/2 + t/2 with t = tanh of half its
    sum: the halves are in the weights, and t takes the place of g.
    """
    into, bias, within = _gru_weights(weights, name)
    units = len(within)
    bias_u = np.float32(0.5) * weights[f"{name}/hn/bias"]
    input_cbg = np.swapaxes(input_bcf, 0, 1) @ into + bias
    state_bu = np.zeros((input_bcf.shape[0], units), np.float32)
    state_cbu = np.empty((len(input_cbg), *state_bu.shape), np.float32)
    for day, input_bg in enumerate(input_cbg):
        sum_bg = state_bu @ within
        gates_bg = sum_bg[:, : 2 * units] + input_bg[:, : 2 * units]
        np.tanh(gates_bg, out=gates_bg)
        reset_bu, keep_bu = gates_bg[:, :units], gates_bg[:, units:]
        inner_bu = sum_bg[:, 2 * units :] + bias_u
        reset_bu *= inner_bu
        inner_bu += reset_bu
        inner_bu += input_bg[:, 2 * units :]
        new_bu = np.tanh(inner_bu, out=inner_bu)
        # (1 - z) n + z h, with z = 1/2 + t/2
        keep_bu *= state_bu - new_bu
        state_bu = np.add(state_bu, new_bu, out=state_cbu[day])
        state_bu += keep_bu
        state_bu *= np.float32(0.5)
    return np.swapaxes(state_cbu, 0, 1)


def _gru_weights(weights: Weights, name: str) -> tuple[np.ndarray, ...]:
    """Input kernels, input biases and state kernels, gates r, z, n side by side.

    Those of the gates are halved, and those from the state to n.
    """
    half, whole = np.float32(0.5), np.float32(1.0)
    share = {"r": half, "z": half, "n": whole}
    into = [share[gate] * weights[f"{name}/i{gate}/kernel"] for gate in share]
    bias = [share[gate] * weights[f"{name}/i{gate}/bias"] for gate in share]
    within = [half * weights[f"{name}/h{gate}/kernel"] for gate in share]
    return tuple(np.concatenate(parts, axis=-1) for parts in (into, bias, within))


def _dense(weights: Weights, name: str, value: np.ndarray) -> np.ndarray:
    return value @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]


def _sigmoid(value: np.ndarray) -> np.ndarray:
    # By tanh: exp of a large negative number would overflow.
    return np.float32(0.5) * (np.tanh(np.float32(0.5) * value) + 1)


def _silu(value: np.ndarray) -> np.ndarray:
    return value * _sigmoid(value)
