"""The forward pass in NumPy, and the forecast that is delivered. Needs no JAX."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Float32

from forecaster import inputs, intervals, windows
from forecaster.artefact import Artefact
from forecaster.errors import ArtefactError, NoDataError
from forecaster.features import LONGEST_LAG, Features, build_features
from forecaster.inputs import Slices, Targets
from forecaster.intervals import STRANGER_SPREAD
from forecaster.panel import Panel
from forecaster.scaling import SPREAD_DAYS

BATCH = 512
Weights = dict[str, np.ndarray]

MODEL, SIMILAR, CLOSED = "model", "similar", "closed"
"""What a forecast rests on: the depot's own days, those of depots like it, or nothing."""


@dataclass(frozen=True)
class Forecast:
    """Orders per day of the H days after the origin, for every depot of a panel.

    0 ≤ p10 ≤ p50 ≤ p90, never NaN, exactly 0 on closed days.
    """

    p10_dh: Float[np.ndarray, "depot horizon"]
    p50_dh: Float[np.ndarray, "depot horizon"]
    p90_dh: Float[np.ndarray, "depot horizon"]
    basis_dh: np.ndarray


@dataclass(frozen=True)
class Said:
    """The network's answer before it becomes orders; log counts."""

    plain_dh: Float32[np.ndarray, "depot horizon"]
    # What the network adds to the plain forecast.
    correction_dh: Float32[np.ndarray, "depot horizon"]
    spread_d: Float32[np.ndarray, " depot"]
    # Depots without an observed day of their own.
    stranger_d: Bool[np.ndarray, " depot"]


def forecast(artefact: Artefact, panel: Panel) -> Forecast:
    """Forecasts every depot from the panel's last day.

    A depot without an observed day in reach is forecast from the days of its city (or of
    the fleet), and marked `similar`.

    Args:
      artefact: From `artefact.load`.
      panel: Demand up to the origin; its calendar reaches at least the horizon ahead.

    Raises:
      NoDataError: the panel's calendar ends before the horizon does, or no depot has
        been observed.
    """
    said = ask(artefact, panel)
    point_dh = artefact.delivery.points(
        panel.depot_ids, said.plain_dh, said.correction_dh, said.spread_d
    )
    weekday_h = (panel.origin.weekday() + 1 + np.arange(artefact.horizon)) % 7
    low_dh, high_dh = intervals.band(
        artefact.intervals, point_dh, said.spread_d, weekday_h, panel.depot_ids
    )
    ahead = slice(panel.n_steps, panel.n_steps + artefact.horizon)
    closed_dh = panel.closed_dt[:, ahead]
    return _delivered(low_dh, point_dh, high_dh, closed_dh, said.stranger_d)


def ask(artefact: Artefact, panel: Panel) -> Said:
    """What the network says of every depot from the panel's last day.

    Raises:
      NoDataError: as `forecast`.
    """
    if panel.ahead < artefact.horizon:
        raise NoDataError(
            f"The calendar reaches {panel.ahead} days past {panel.origin}, but the "
            f"model forecasts {artefact.horizon}. Build the panel with "
            f"ahead={artefact.horizon}."
        )
    panel = panel.last(_days_that_matter(artefact))
    stranger_d = np.logical_not(panel.observed_dt.any(axis=1))
    features = build_features(
        _lend_days(panel, stranger_d), artefact.kinds, artefact.horizon
    )
    _require_same_inputs(artefact, features)
    spread_d = features.spread_dt[:, panel.n_steps - 1]
    plain_dh, correction_dh = _in_batches(artefact, features)
    return Said(
        plain_dh=plain_dh,
        correction_dh=correction_dh,
        spread_d=spread_d + np.float32(STRANGER_SPREAD) * stranger_d,
        stranger_d=stranger_d,
    )


def forward(
    artefact: Artefact, slices: Slices
) -> tuple[Float32[np.ndarray, "batch horizon"], Float32[np.ndarray, "batch horizon"]]:
    """The plain forecast from the last context day, and what the members add to it.

    Args:
      artefact: Its weights.
      slices: As the network takes them, with a batch axis.

    Returns:
      Log counts; the second is the mean of the members.
    """
    horizon = artefact.task.horizon
    past_bcf = inputs.past(np, slices, horizon)
    targets = inputs.targets(np, inputs.newest(slices, horizon), horizon)
    corrections = [
        _correction(artefact.member(number), slices.calendar, past_bcf, targets)
        for number in range(artefact.n_members)
    ]
    return targets.plain[:, 0], np.mean(corrections, axis=0)


def _in_batches(
    artefact: Artefact, features: Features
) -> tuple[Float32[np.ndarray, "depot horizon"], Float32[np.ndarray, "depot horizon"]]:
    """`forward` for all depots, in batches that fit the cache."""
    parts = [forward(artefact, slices) for slices in _newest_slices(artefact, features)]
    plain, correction = zip(*parts, strict=True)
    return np.concatenate(plain), np.concatenate(correction)


def _correction(
    weights: Weights,
    calendar_bsk: Float32[np.ndarray, "batch day known"],
    past_bcf: Float32[np.ndarray, "batch context feature"],
    targets: Targets,
) -> Float32[np.ndarray, "batch horizon"]:
    """What `model.DepotForecaster` adds to the plain forecast from the last day."""
    day_bsm = _dense(weights, "calendar", calendar_bsk)
    context = past_bcf.shape[1]
    today_bcf = np.concatenate([past_bcf, day_bsm[:, :context]], axis=-1)
    state_bu = _gru(weights, "gru_2", _gru(weights, "gru_1", today_bcf))[:, -1]
    origin_bf = np.concatenate([state_bu, past_bcf[:, -1]], axis=-1)
    origin_bhm = np.einsum("bf,fhm->bhm", origin_bf, weights["origin/kernel"])
    origin_bhm = origin_bhm + weights["origin/bias"]
    target_bhm = targets.features[:, 0] @ weights["target/kernel"]
    ahead_bhm = day_bsm[:, context:]
    sum_bhm = _silu(ahead_bhm + origin_bhm + target_bhm)
    mixed_bhm = _silu(_dense(weights, "mix", sum_bhm))
    return _dense(weights, "correction", mixed_bhm)[..., 0]


def _gru(
    weights: Weights, name: str, input_bcf: Float32[np.ndarray, "batch context feature"]
) -> Float32[np.ndarray, "batch context unit"]:
    """One GRU layer with Flax's gates: r and z carry one bias, n carries two.

    The products with the input are taken for all days at once; only those with the
    state have to wait for each other.
    """
    into, bias, within = _gru_weights(weights, name)
    units = len(within)
    input_cbg = np.swapaxes(input_bcf, 0, 1) @ into + bias
    state_bu = np.zeros((input_bcf.shape[0], units), np.float32)
    states = []
    for input_bg in input_cbg:
        from_state_bg = state_bu @ within
        gates_bg = _sigmoid(input_bg[:, : 2 * units] + from_state_bg[:, : 2 * units])
        reset_bu, keep_bu = gates_bg[:, :units], gates_bg[:, units:]
        inner_bu = from_state_bg[:, 2 * units :] + weights[f"{name}/hn/bias"]
        new_bu = np.tanh(input_bg[:, 2 * units :] + reset_bu * inner_bu)
        state_bu = (1 - keep_bu) * new_bu + keep_bu * state_bu
        states.append(state_bu)
    return np.stack(states, axis=1)


def _gru_weights(weights: Weights, name: str) -> tuple[np.ndarray, ...]:
    """Input kernels, input biases and state kernels, gates r, z, n side by side."""
    into = [weights[f"{name}/i{gate}/kernel"] for gate in "rzn"]
    bias = [weights[f"{name}/i{gate}/bias"] for gate in "rzn"]
    within = [weights[f"{name}/h{gate}/kernel"] for gate in "rzn"]
    return tuple(np.concatenate(parts, axis=-1) for parts in (into, bias, within))


def _dense(weights: Weights, name: str, value: np.ndarray) -> np.ndarray:
    return value @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]


def _sigmoid(value: np.ndarray) -> np.ndarray:
    # By tanh: exp of a large negative number would overflow.
    return np.float32(0.5) * (np.tanh(np.float32(0.5) * value) + 1)


def _silu(value: np.ndarray) -> np.ndarray:
    return value * _sigmoid(value)


def _newest_slices(artefact: Artefact, features: Features) -> Iterator[Slices]:
    n_depots = len(features.group_d)
    for first in range(0, n_depots, BATCH):
        depot_b = np.arange(first, min(first + BATCH, n_depots))
        last_b = np.full(len(depot_b), features.n_steps - 1)
        yield inputs.cut(features, artefact.task, depot_b, last_b)


def _days_that_matter(artefact: Artefact) -> int:
    """Steps before the origin that can reach a forecast."""
    task = artefact.task
    lags = windows.lookback(task.horizon) + task.horizon + LONGEST_LAG
    return task.context + lags + SPREAD_DAYS


def _require_same_inputs(artefact: Artefact, features: Features) -> None:
    weights, units = artefact.weights, artefact.model.units
    widths = (
        weights["origin/kernel"].shape[1] - units,
        weights["target/kernel"].shape[1],
    )
    if widths != (inputs.PAST_COLUMNS, inputs.TARGET_COLUMNS):
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


def _lend_days(panel: Panel, stranger_d: Bool[np.ndarray, " depot"]) -> Panel:
    """Gives depots never observed the typical days of their city, or of the fleet.

    Raises:
      NoDataError: no depot has been observed.
    """
    if not stranger_d.any():
        return panel
    if stranger_d.all():
        raise NoDataError(
            f"No depot has an observed day up to {panel.origin}. Load orders with "
            "'harbor ingest'."
        )
    demand_dt = panel.demand_dt.copy()
    city_d = np.array(panel.cities)
    for depot in np.flatnonzero(stranger_d):
        alike_d = (city_d == city_d[depot]) & ~stranger_d
        demand_dt[depot] = _typical(
            panel.demand_dt[alike_d if alike_d.any() else ~stranger_d]
        )
    return replace(panel, demand_dt=demand_dt)


def _typical(
    demand_dt: Float[np.ndarray, "depot time"],
) -> Float[np.ndarray, " time"]:
    """Median over depots of each day, NaN where none was observed."""
    known_t = np.isfinite(demand_dt).any(axis=0)
    filled_dt = np.where(known_t, demand_dt, 0.0)
    return np.where(known_t, np.nanmedian(filled_dt, axis=0), np.nan)


def _delivered(
    low_dh: Float[np.ndarray, "depot horizon"],
    point_dh: Float[np.ndarray, "depot horizon"],
    high_dh: Float[np.ndarray, "depot horizon"],
    closed_dh: Bool[np.ndarray, "depot horizon"],
    stranger_d: Bool[np.ndarray, " depot"],
) -> Forecast:
    """From log counts to orders: never negative, 0 where closed."""

    def orders(log_dh: Float[np.ndarray, "depot horizon"]) -> np.ndarray:
        open_dh = np.maximum(np.expm1(log_dh.astype(float)), 0.0)
        return np.where(closed_dh, 0.0, open_dh)

    basis_dh = np.where(stranger_d[:, None], SIMILAR, MODEL)
    return Forecast(
        p10_dh=orders(low_dh),
        p50_dh=orders(point_dh),
        p90_dh=orders(high_dh),
        basis_dh=np.where(closed_dh, CLOSED, basis_dh),
    )
