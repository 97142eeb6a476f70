"""The forward pass of `model.DepotForecaster` in NumPy, without JAX."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32, Int

from forecaster.data import inputs
from forecaster.data.calendar_features import SEASON_COLUMNS
from forecaster.data.inputs import Windows
from forecaster.inference.numpy_gru import HALF, Layer, last_state

Weights = dict[str, np.ndarray]


class _Calendars(NamedTuple):
    """The distinct calendars of a batch."""

    value_gsf: Float32[np.ndarray, "calendar near feature"]
    # Calendar of each depot.
    row_b: Int[np.ndarray, " batch"]

    @classmethod
    def of(
        cls, windows: Windows, group_b: Int[np.ndarray, " batch"] | None
    ) -> "_Calendars":
        value_bsf = np.asarray(windows.calendar)
        if group_b is None:
            group_b = np.arange(len(value_bsf))
        _, first_g, row_b = np.unique(group_b, return_index=True, return_inverse=True)
        return cls(value_bsf[first_g], row_b)


class Network:
    """The members of an artefact, ready to run."""

    def __init__(self, weights: Weights, horizon: int) -> None:
        """Rearranges the weights: arrays by path, whose first axis is the member."""
        self._horizon = horizon
        self._encoder = _PastEncoder(weights)
        self._heads = [
            _HorizonHead({name: value[member] for name, value in weights.items()})
            for member in range(len(weights["correction/bias"]))
        ]

    def forward(
        self, windows: Windows, group_b: Int[np.ndarray, " batch"] | None = None
    ) -> tuple[
        Float32[np.ndarray, "batch horizon"], Float32[np.ndarray, "batch horizon"]
    ]:
        """Returns the baseline forecast from the last context day, and the network's correction.

        Args:
          windows: Windows with a batch axis.
          group_b: Number of each depot's calendar; equal numbers are computed once. None
            treats all calendars as different.

        Returns:
          Both in log counts; the correction is the mean of the members.
        """
        columns = inputs.past_columns(np, windows, self._horizon)
        past_cfb = _stack_with_depots_last([np.asarray(column) for column in columns])
        future = inputs.future(np, windows, self._horizon, slice(-1, None))
        baseline_bh = np.asarray(future.baseline)[:, 0]
        calendars = _Calendars.of(windows, group_b)
        state_mbu = self._encoder.last_state(past_cfb, calendars)
        depot_b = np.asarray(windows.depot).astype(int)
        correction_bh = np.zeros_like(baseline_bh)
        for head, state_bu in zip(self._heads, state_mbu, strict=True):
            origin_bf = np.concatenate([state_bu, past_cfb[-1].T], axis=-1)
            correction_bh += head.correction(
                origin_bf, future.features[:, 0], calendars, depot_b
            )
        return baseline_bh, correction_bh / len(self._heads)


class _PastEncoder:
    """The GRU layers of all members, `model.PastEncoder`.

    The calendar's layer and the input of the first GRU layer are two successive linear maps:
    their product is computed once.
    """

    def __init__(self, weights: Weights) -> None:
        self._layers = (Layer.of(weights, "gru_1"), Layer.of(weights, "gru_2"))
        kernel_mgf = self._layers[0].input_kernel_mgi
        calendar_mfk, bias_mk = weights["calendar/kernel"], weights["calendar/bias"]
        n_past = kernel_mgf.shape[2] - 1 - bias_mk.shape[1]
        self._past_gp = _members_together(kernel_mgf[..., :n_past])
        of_calendar_mgk = kernel_mgf[..., n_past:-1]
        self._calendar_gf = _members_together(
            of_calendar_mgk @ np.swapaxes(calendar_mfk, 1, 2)
        )
        self._bias_g1 = _members_together(
            of_calendar_mgk @ bias_mk[..., None] + kernel_mgf[..., -1:]
        )

    def last_state(
        self,
        past_cfb: Float32[np.ndarray, "context feature batch"],
        calendars: _Calendars,
    ) -> Float32[np.ndarray, "member batch unit"]:
        """State of every member on the last day."""
        context, _, batch = past_cfb.shape
        value_gcf = calendars.value_gsf[:, :context]
        rest_ckb, kernel_cgk = self._calendar_input(value_gcf, calendars.row_b)
        rest_ckb = np.broadcast_to(rest_ckb, (context, rest_ckb.shape[1], batch))
        input_cfb = np.concatenate([past_cfb, rest_ckb], axis=1)
        past_cgp = np.broadcast_to(self._past_gp, (context, *self._past_gp.shape))
        kernel_cgf = np.concatenate([past_cgp, kernel_cgk], axis=-1)
        return last_state(self._layers, kernel_cgf, input_cfb)

    def _calendar_input(
        self,
        value_gcf: Float32[np.ndarray, "calendar context feature"],
        row_b: Int[np.ndarray, " batch"],
    ) -> tuple[
        Float32[np.ndarray, "#context some batch"],
        Float32[np.ndarray, "context gates some"],
    ]:
        """Inputs of the first layer from the calendar, and their kernels for each day.

        A calendar's day adds the same amount to the gates of all its depots. The input is
        therefore the one-hot calendar of a depot, and the kernel holds these amounts. With
        more calendars than columns, the columns are the input.
        """
        n_calendars, context, n_columns = value_gcf.shape
        if n_calendars <= n_columns:
            is_row_gb = np.arange(n_calendars)[:, None] == row_b
            added_cgk = self._calendar_gf @ value_gcf.transpose(1, 2, 0)
            return is_row_gb[None].astype(np.float32), added_cgk + self._bias_g1
        value_cfb = value_gcf.transpose(1, 2, 0)[..., row_b]
        one_c1b = np.ones_like(value_cfb[:, :1])
        kernel_gf = np.concatenate([self._calendar_gf, self._bias_g1], axis=1)
        kernel_cgf = np.broadcast_to(kernel_gf, (context, *kernel_gf.shape))
        return np.concatenate([value_cfb, one_c1b], axis=1), kernel_cgf


def _stack_with_depots_last(
    columns: Sequence[Float32[np.ndarray, "batch context"]],
) -> Float32[np.ndarray, "context feature batch"]:
    """Stacks the columns of every day side by side, as the GRU reads them."""
    batch, context = columns[0].shape
    value_cfb = np.empty((context, len(columns), batch), np.float32)
    for position, column_bc in enumerate(columns):
        value_cfb[:, position] = np.transpose(column_bc)
    return value_cfb


def _members_together(
    kernel_mgf: Float32[np.ndarray, "member gates feature"],
) -> Float32[np.ndarray, "members_gates feature"]:
    """Joins the members' kernels into one that computes the gates of all members."""
    return np.ascontiguousarray(kernel_mgf.reshape(-1, kernel_mgf.shape[2]))


class _HorizonHead:
    """The head of one member, `model.HorizonHead` with `model.DepotEffect`.

    Weights of layers that feed `_silu` are halved, as it takes half its argument.
    """

    def __init__(self, weights: Weights) -> None:
        halved = {
            name: HALF * weights[f"{name}/kernel"]
            for name in ("calendar", "target", "gain", "own", "mix")
        }
        self._calendar_fm, self._target_fm = halved["calendar"], halved["target"]
        self._gain_em, self._mix_mm = halved["gain"], halved["mix"]
        self._answer_fm = weights["answer/kernel"]
        self._embedding = weights["depots/embedding"]
        origin_fhm, bias_hm = weights["origin/kernel"], weights["origin/bias"]
        own_ehm = np.repeat(halved["own"][:, None], len(bias_hm), axis=1)
        origin_fhm = np.concatenate([HALF * origin_fhm, own_ehm])
        self._origin_fx = origin_fhm.reshape(len(origin_fhm), -1)
        self._bias_hm = HALF * (bias_hm + weights["calendar/bias"])
        self._mix_bias_m = HALF * weights["mix/bias"]
        self._correction_m = weights["correction/kernel"][:, 0]
        self._correction_bias = weights["correction/bias"]

    def correction(
        self,
        origin_bf: Float32[np.ndarray, "batch feature"],
        future_bhf: Float32[np.ndarray, "batch horizon future"],
        calendars: _Calendars,
        depot_b: Int[np.ndarray, " batch"],
    ) -> Float32[np.ndarray, "batch horizon"]:
        """Correction to the baseline forecasts of the days ahead."""
        batch, horizon, _ = future_bhf.shape
        embedding_be = self._embedding[depot_b] * (depot_b > 0)[:, None]
        gain_b1m = (embedding_be @ self._gain_em)[:, None]
        ahead_ghf = calendars.value_gsf[:, -horizon:]
        calendar_ghm = _dense(ahead_ghf, self._calendar_fm) + self._bias_hm
        answer_ghm = _dense(ahead_ghf[..., SEASON_COLUMNS:], self._answer_fm)
        origin_bf = np.concatenate([origin_bf, embedding_be], axis=1)
        sum_bhm = (origin_bf @ self._origin_fx).reshape(batch, *self._bias_hm.shape)
        sum_bhm += _dense(future_bhf, self._target_fm)
        sum_bhm += calendar_ghm[calendars.row_b]
        sum_bhm += gain_b1m * answer_ghm[calendars.row_b]
        mixed_bhm = _dense(_silu(sum_bhm), self._mix_mm)
        mixed_bhm += self._mix_bias_m
        return _silu(mixed_bhm) @ self._correction_m + self._correction_bias


def _dense(value: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Multiplies in one matrix product; by itself NumPy makes one per row of the first axis."""
    product = value.reshape(-1, value.shape[-1]) @ kernel
    return product.reshape(*value.shape[:-1], kernel.shape[1])


def _silu(half: np.ndarray) -> np.ndarray:
    """Returns x · sigmoid(x) for x = 2 · half."""
    # Computed with tanh: exp of a large negative number would overflow.
    result = np.tanh(half)
    result *= half
    result += half
    return result
