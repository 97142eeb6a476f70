"""Configurations of the task, the network and the training: frozen, validated, JSON."""

from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar

from forecaster.errors import ConfigError

MAX_HORIZON = 63
MIN_TRAINING_DAYS = 42
HISTORY_STEP_DAYS = 14
"""Days by which the context of a short history grows, so that shapes change rarely."""
ConfigT = TypeVar("ConfigT", bound="Config")


def min_training_days(horizon: int) -> int:
    """Fewest days of history that training needs: about four horizons, at least 42 days.

    Args:
      horizon: Days forecast.
    """
    return max(
        MIN_TRAINING_DAYS,
        -(-4 * (horizon + 1) // HISTORY_STEP_DAYS) * HISTORY_STEP_DAYS,
    )


@dataclass(frozen=True)
class Config:
    """Base of the configurations: conversion to and from JSON."""

    def to_json(self) -> dict[str, Any]:
        """The settings by name."""
        return asdict(self)

    @classmethod
    def from_json(cls: type[ConfigT], settings: dict[str, Any]) -> ConfigT:
        """Builds the configuration from settings by name.

        Raises:
          ConfigError: a setting is unknown, missing, or out of range.
        """
        known = {field.name for field in fields(cls)}
        if strange := sorted(set(settings) ^ known):
            raise ConfigError(
                f"{cls.__name__} has {', '.join(strange)} missing or unknown; it needs "
                f"exactly {', '.join(sorted(known))}. Use the release that wrote it."
            )
        return cls(**settings)

    def _require(self, name: str, low: float, high: float) -> None:
        value = getattr(self, name)
        if not low <= value <= high:
            raise ConfigError(
                f"{name} is {value}, but must lie between {low} and {high}. "
                f"Choose another {name}."
            )


@dataclass(frozen=True)
class TaskConfig(Config):
    """The forecasting task.

    Attributes:
      horizon: Days forecast.
      context: Days the network reads before each forecast.
    """

    horizon: int = 7
    context: int = 128

    def __post_init__(self) -> None:
        self._require("horizon", 1, MAX_HORIZON)
        self._require("context", 14, 1024)


@dataclass(frozen=True)
class ModelConfig(Config):
    """The size of the network.

    Attributes:
      units: Hidden units of each of the two GRU layers.
      head_units: Width of the head that turns a state into the days ahead.
      dropout: Dropout rate of the hidden units.
      embedding_units: Width of each depot's embedding.
      embedding_dropout: Share of training windows without their embedding, so that a
        depot without one can be forecast.
    """

    units: int = 32
    head_units: int = 64
    dropout: float = 0.3
    embedding_units: int = 8
    embedding_dropout: float = 0.3

    def __post_init__(self) -> None:
        self._require("units", 1, 4096)
        self._require("head_units", 1, 4096)
        self._require("dropout", 0.0, 0.9)
        self._require("embedding_units", 1, 256)
        self._require("embedding_dropout", 0.0, 0.9)


@dataclass(frozen=True)
class TrainConfig(Config):
    """How the network is trained.

    Attributes:
      epochs: Passes over every depot's history at most.
      most_steps: Optimiser steps at most; a long history needs fewer passes.
      batch_size: Depot windows in one optimiser step.
      members: Networks in the ensemble, whose mean is the forecast.
      learning_rate: Peak rate of AdamW, after warm-up; decays to half of it.
      weight_decay: Weight decay of AdamW.
      huber_delta: Log counts; below it the loss is squared, above it absolute. Small
        values act like the median, which percentage errors reward.
      average_decay: Weights are averaged over the steps with this decay.
      validation_days: Number of final days held out for early stopping and calibration.
      seed: Seed of weights, dropout and the order of windows.
      bfloat16: Whether a training step multiplies in bfloat16. Weights and sums stay
        float32, and so do validation and serving.
    """

    epochs: int = 100
    most_steps: int = 800
    batch_size: int = 64
    members: int = 4
    learning_rate: float = 6e-3
    weight_decay: float = 1e-2
    huber_delta: float = 0.05
    average_decay: float = 0.99
    validation_days: int = 28
    seed: int = 0
    bfloat16: bool = False

    def __post_init__(self) -> None:
        self._require("epochs", 1, 100_000)
        self._require("most_steps", 1, 10_000_000)
        self._require("batch_size", 1, 1_000_000)
        self._require("members", 1, 64)
        self._require("learning_rate", 1e-7, 1.0)
        self._require("weight_decay", 0.0, 1.0)
        self._require("huber_delta", 1e-6, 100.0)
        self._require("average_decay", 0.0, 0.99999)
        self._require("validation_days", 1, 365)
        self._require("seed", 0, 2**31 - 1)
