"""Two GRU layers in NumPy, computed day by day as Flax's `GRUCell` does.

Gates r and z have one bias, n has two. A gate g is 1/2 + t/2 with t = tanh of half its
sum: the halves are in the weights, and t is stored in place of g. Depots are the last axis,
so that each gate of all of them is contiguous in memory.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32

HALF = np.float32(0.5)


class Layer(NamedTuple):
    """Weights of one layer; the rows of gates r, z and n follow each other."""

    input_kernel_gf: Float32[np.ndarray, "gates feature"]
    input_bias_g1: Float32[np.ndarray, "gates 1"]
    recurrent_kernel_gu: Float32[np.ndarray, "gates unit"]
    # Bias of n that the reset gate scales.
    recurrent_bias_u1: Float32[np.ndarray, "unit 1"]

    @classmethod
    def of(cls, weights: Mapping[str, np.ndarray], name: str) -> "Layer":
        """Builds a layer from weights under Flax's names.

        Args:
          weights: Weights of one member, by path.
          name: Name of the layer, such as `gru_1`.
        """
        scale = {"r": HALF, "z": HALF, "n": np.float32(1.0)}

        def stack_gates(path: str, scales: Mapping[str, np.float32]) -> np.ndarray:
            gates = [
                scales[gate] * weights[f"{name}/{path.format(gate)}"] for gate in scales
            ]
            return np.ascontiguousarray(np.concatenate(gates, axis=-1).T)

        return cls(
            stack_gates("i{}/kernel", scale),
            stack_gates("i{}/bias", scale)[:, None],
            stack_gates("h{}/kernel", dict.fromkeys(scale, HALF)),
            (HALF * weights[f"{name}/hn/bias"])[:, None],
        )


class _Buffers(NamedTuple):
    """Buffers that every step of a layer overwrites."""

    sum_gb: Float32[np.ndarray, "gates batch"]
    input_gb: Float32[np.ndarray, "gates batch"]


def last_states(
    layers: tuple[Layer, ...],
    input_cfb: Float32[np.ndarray, "context feature batch"],
    n_days: int,
) -> Float32[np.ndarray, "batch {n_days} unit"]:
    """Runs the layers, and returns the last layer's states on the last days.

    Args:
      layers: Each reads the states of the one before it.
      input_cfb: Input of the first layer.
      n_days: Number of last days returned.
    """
    context, _, batch = input_cfb.shape
    gates, units = layers[0].recurrent_kernel_gu.shape
    buffers = _Buffers(*np.empty((2, gates, batch), np.float32))
    states = np.zeros((len(layers), units, batch), np.float32)
    last_oub = np.empty((n_days, units, batch), np.float32)
    for day, value_fb in enumerate(input_cfb):
        layer_input_fb = value_fb
        for layer, state_ub in zip(layers, states, strict=True):
            _step(layer, layer_input_fb, state_ub, buffers)
            layer_input_fb = state_ub
        if day >= context - n_days:
            last_oub[day - context + n_days] = layer_input_fb
    return np.transpose(last_oub, (2, 0, 1))


def _step(
    layer: Layer,
    value_fb: Float32[np.ndarray, "feature batch"],
    state_ub: Float32[np.ndarray, "unit batch"],
    buffers: _Buffers,
) -> None:
    """Advances the state by one day, in place."""
    units = len(state_ub)
    sum_gb, input_gb = buffers
    np.matmul(layer.recurrent_kernel_gu, state_ub, out=sum_gb)
    np.matmul(layer.input_kernel_gf, value_fb, out=input_gb)
    input_gb += layer.input_bias_g1
    gates_gb, inner_ub = sum_gb[: 2 * units], sum_gb[2 * units :]
    gates_gb += input_gb[: 2 * units]
    np.tanh(gates_gb, out=gates_gb)
    reset_ub, keep_ub = gates_gb[:units], gates_gb[units:]
    inner_ub += layer.recurrent_bias_u1
    reset_ub *= inner_ub
    inner_ub += reset_ub
    inner_ub += input_gb[2 * units :]
    new_ub = np.tanh(inner_ub, out=inner_ub)
    # (1 - z) n + z h, with z = 1/2 + t/2
    keep_ub *= np.subtract(state_ub, new_ub, out=reset_ub)
    state_ub += new_ub
    state_ub += keep_ub
    state_ub *= HALF
