"""Two GRU layers of all members in NumPy, computed day by day as Flax's `GRUCell` does.

Gates r and z have one bias, n has two. A gate g is 1/2 + t/2 with t = tanh of half its
sum: the halves are in the weights, and t is stored in place of g. Depots are the last axis,
so that each gate is contiguous in memory over all depots. The last row of every input and
state is 1, so that the last column of a kernel is its bias.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32

HALF, ONE = np.float32(0.5), np.float32(1.0)


class Layer(NamedTuple):
    """Weights of one layer of all members; the rows are gate r's, then z's, then n's."""

    input_kernel_mgi: Float32[np.ndarray, "member gates input"]
    # The bias column holds the bias of n that the reset gate scales; 0 for r and z.
    recurrent_kernel_mgs: Float32[np.ndarray, "member gates state"]

    @classmethod
    def of(cls, weights: Mapping[str, np.ndarray], name: str) -> "Layer":
        """Builds a layer, such as `gru_1`, from weights under Flax's names, members first."""
        scale = {"r": HALF, "z": HALF, "n": ONE}
        input_mfg = _stacked_gates(weights, f"{name}/i", scale)
        recurrent_mug = _stacked_gates(weights, f"{name}/h", dict.fromkeys(scale, HALF))
        # Transposed, because the kernels multiply values whose last axis is the depots.
        swapped = (np.swapaxes(each, 1, 2) for each in (input_mfg, recurrent_mug))
        return cls(*map(np.ascontiguousarray, swapped))


def _stacked_gates(
    weights: Mapping[str, np.ndarray], path: str, scale: Mapping[str, np.float32]
) -> Float32[np.ndarray, "member feature gates"]:
    """Kernels of the three gates side by side, each with its bias as an added last row."""
    gates = []
    for gate, factor in scale.items():
        kernel_mfu = weights[f"{path}{gate}/kernel"]
        no_bias_mu = np.zeros_like(kernel_mfu[:, 0])
        bias_mu = weights.get(f"{path}{gate}/bias", no_bias_mu)
        gates.append(factor * np.concatenate([kernel_mfu, bias_mu[:, None]], axis=1))
    return np.concatenate(gates, axis=-1)


class _Buffers(NamedTuple):
    """Buffers that every step overwrites."""

    input_mgb: Float32[np.ndarray, "member gates batch"]
    sum_mgb: Float32[np.ndarray, "member gates batch"]


def last_state(
    layers: tuple[Layer, Layer],
    kernel_cgf: Float32[np.ndarray, "context members_gates feature"],
    input_cfb: Float32[np.ndarray, "context feature batch"],
) -> Float32[np.ndarray, "member batch unit"]:
    """Runs the layers, and returns the second one's state on the last day.

    Args:
      layers: The second reads the states of the first.
      kernel_cgf: Input kernel of the first layer on each day, of all members; it replaces
        the layer's own.
      input_cfb: Input of the first layer.
    """
    first, second = layers
    batch = input_cfb.shape[2]
    members, gates, width = first.recurrent_kernel_mgs.shape
    buffers = _Buffers(*np.empty((2, members, gates, batch), np.float32))
    first_msb, second_msb = np.zeros((2, members, width, batch), np.float32)
    first_msb[:, -1] = second_msb[:, -1] = ONE
    flat_input_gb = buffers.input_mgb.reshape(members * gates, batch)
    for kernel_gf, value_fb in zip(kernel_cgf, input_cfb, strict=True):
        np.matmul(kernel_gf, value_fb, out=flat_input_gb)
        _step(first.recurrent_kernel_mgs, first_msb, buffers)
        np.matmul(second.input_kernel_mgi, first_msb, out=buffers.input_mgb)
        _step(second.recurrent_kernel_mgs, second_msb, buffers)
    return np.swapaxes(second_msb[:, :-1], 1, 2)


def _step(
    recurrent_kernel_mgs: Float32[np.ndarray, "member gates state"],
    state_msb: Float32[np.ndarray, "member state batch"],
    buffers: _Buffers,
) -> None:
    """Advances the state by one day, in place."""
    input_mgb, sum_mgb = buffers
    state_mub = state_msb[:, :-1]
    units = state_mub.shape[1]
    np.matmul(recurrent_kernel_mgs, state_msb, out=sum_mgb)
    gates_mgb, inner_mub = sum_mgb[:, : 2 * units], sum_mgb[:, 2 * units :]
    gates_mgb += input_mgb[:, : 2 * units]
    np.tanh(gates_mgb, out=gates_mgb)
    reset_mub, keep_mub = gates_mgb[:, :units], gates_mgb[:, units:]
    reset_mub *= inner_mub
    inner_mub += reset_mub
    inner_mub += input_mgb[:, 2 * units :]
    new_mub = np.tanh(inner_mub, out=inner_mub)
    # (1 - z) n + z h, with z = 1/2 + t/2
    keep_mub *= np.subtract(state_mub, new_mub, out=reset_mub)
    state_mub += new_mub
    state_mub += keep_mub
    state_mub *= HALF
