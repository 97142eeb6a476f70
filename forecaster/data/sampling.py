"""Samples the windows of an epoch and their order, determined by seed and epoch."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32, Int, Int32

from forecaster.config import TaskConfig
from forecaster.data.features import Features

VOLUME_POWER, VOLUME_WEIGHTS = 0.4, (0.2, 5.0)
"""A window's weight is (level / mean level of the fleet) to this power, within these bounds: costs
depend on orders, not on depots, and data of busy depots is less noisy."""
ROUNDED_WINDOWS = 8
"""The number of windows in one step is a multiple of this."""


class BatchRows(NamedTuple):
    """The windows of one optimiser step."""

    depot_b: Int32[np.ndarray, " batch"]
    last_b: Int32[np.ndarray, " batch"]
    # Volume weight; 0.0 for rows that pad a short last batch to the shape of all steps.
    weight_b: Float32[np.ndarray, " batch"]


def epoch_rows(
    features: Features, task: TaskConfig, batch_size: int, seed: int, epoch: int
) -> Iterator[BatchRows]:
    """Yields the batches of about one pass over every depot's history; windows end on random days.

    The number of a depot's windows is proportional to its days since the first observed
    day. Epochs count from 0.
    """
    rng = np.random.default_rng([seed, epoch])
    depot_r, last_r = _windows(features, task, rng)
    order_r = rng.permutation(len(depot_r))
    weight_d = volume_weights(features)
    for first in range(0, len(order_r), batch_size):
        some_r = order_r[first : first + batch_size]
        fill = (0, batch_size - len(some_r))
        yield BatchRows(
            np.pad(depot_r[some_r], fill).astype(np.int32),
            np.pad(last_r[some_r], fill, mode="edge").astype(np.int32),
            np.pad(weight_d[depot_r[some_r]], fill),
        )


def volume_weights(features: Features) -> Float32[np.ndarray, " depot"]:
    """Weights of the depots in the loss, by their newest level: 1 at the mean of the fleet."""
    # Levels exclude effects, and so lie a little below 0 where there is no demand.
    level_d = np.maximum(np.expm1(features.level_dt[:, features.n_steps - 1]), 0.0)
    ratio_d = level_d / max(level_d.mean(), 1e-6)
    return np.clip(ratio_d**VOLUME_POWER, *VOLUME_WEIGHTS).astype(np.float32)


def even_batch_size(features: Features, task: TaskConfig, most: int) -> int:
    """Windows per step, at most `most`, chosen for few steps per epoch and little padding.

    Returns:
      A multiple of `ROUNDED_WINDOWS`, so that a growing fleet rarely changes the shapes
      of a step; `most` if that is less.
    """
    n_windows = max(1, int(_windows_of_depots(features, task).sum()))
    n_steps = -(-n_windows // most)
    even = -(-n_windows // n_steps)
    return min(most, -(-even // ROUNDED_WINDOWS) * ROUNDED_WINDOWS)


def steps_per_epoch(features: Features, task: TaskConfig, batch_size: int) -> int:
    """Number of optimiser steps in one epoch."""
    return -(-int(_windows_of_depots(features, task).sum()) // batch_size)


def _windows_of_depots(
    features: Features, task: TaskConfig
) -> Int[np.ndarray, " depot"]:
    days_d = _days(features)
    whole_d, begun_d = days_d // task.context, -(-days_d // task.context)
    return np.maximum(whole_d, np.minimum(begun_d, 2))


def _days(features: Features) -> Int[np.ndarray, " depot"]:
    """Number of days of each depot, counted from its first observed day."""
    return np.asarray((features.age_dt[:, : features.n_steps] > 0).sum(axis=1))


def _windows(
    features: Features, task: TaskConfig, rng: np.random.Generator
) -> tuple[Int[np.ndarray, " row"], Int[np.ndarray, " row"]]:
    """Windows within each depot's history: the newest, and others at random, evenly spread.

    None begins before the first observed day, unless the history is shorter than the context.
    """
    count_d = _windows_of_depots(features, task)
    depot_r = np.repeat(np.arange(len(count_d)), count_d)
    number_r = np.concatenate(
        [np.zeros(0, int), *(np.arange(count) for count in count_d)]
    )
    latest_d = np.maximum(_days(features) - task.context, 0)
    part_r = (number_r + rng.random(len(depot_r))) / count_d[depot_r]
    ago_r = (part_r * (latest_d[depot_r] + 1)).astype(int)
    return depot_r, features.n_steps - 1 - np.where(number_r == 0, 0, ago_r)
