"""Configurations of the task, the network and the training: frozen, validated, JSON."""

from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar

from forecaster.errors import ConfigError

MIN_CONTEXT = 14
"""Minimum context, in days."""
MAX_HORIZON = 63
"""Maximum horizon, in days."""
MIN_TRAINING_DAYS = 14
"""Minimum days of history for any training: two of each weekday."""
HISTORY_STEP_DAYS = 14
"""A short history's context grows in steps of this many days, so array shapes rarely change."""
PointFor = Literal["median", "balanced", "mape"]
"""Criterion that the point forecast is made for; see `POINT_SHIFTS`."""
DEFAULT_POINT: PointFor = "balanced"
POINT_SHIFTS: dict[PointFor, float] = {"median": 0.0, "balanced": 0.2, "mape": 0.75}
"""κ: the point lies κ · spread² log counts below the median. A percentage error divides by
the actual, so a low forecast costs less; LAB.md lists the measured gain and cost of each κ."""
ConfigT = TypeVar("ConfigT", bound="Config")


def min_training_days(horizon: int) -> int:
    """Minimum days of history for training: two horizons, rounded up to whole fortnights."""
    return max(
        MIN_TRAINING_DAYS, -(-2 * horizon // HISTORY_STEP_DAYS) * HISTORY_STEP_DAYS
    )


def bounded(low: float, high: float, default: float) -> Any:
    """Declares a field of a configuration with its limits, both included."""
    return field(default=default, metadata={"limits": (low, high)})


@dataclass(frozen=True)
class Config:
    """Base class of the configurations: checks limits and builds from JSON."""

    def __post_init__(self) -> None:
        """Raises a ConfigError for a field outside of its limits."""
        for setting in fields(self):
            value = getattr(self, setting.name)
            low, high = setting.metadata.get("limits", (value, value))
            if not low <= value <= high:
                raise ConfigError(
                    f"{setting.name} is {value}, but must lie between {low} and {high}. "
                    f"Choose another {setting.name}."
                )

    @classmethod
    def from_json(cls: type[ConfigT], settings: dict[str, Any]) -> ConfigT:
        """Builds the configuration from settings by name.

        Raises:
          ConfigError: a setting is unknown, missing, or out of range.
        """
        names = {setting.name for setting in fields(cls)}
        if mismatched := sorted(set(settings) ^ names):
            raise ConfigError(
                f"{cls.__name__} has {', '.join(mismatched)} missing or unknown; it needs "
                f"exactly {', '.join(sorted(names))}. Use the release that wrote it."
            )
        return cls(**settings)


@dataclass(frozen=True)
class TaskConfig(Config):
    """The forecasting task.

    Attributes:
      horizon: Days forecast.
      context: Days the network reads before each forecast.
    """

    horizon: int = bounded(1, MAX_HORIZON, 7)
    context: int = bounded(MIN_CONTEXT, 1024, 42)


@dataclass(frozen=True)
class ModelConfig(Config):
    """The size of the network.

    Attributes:
      units: Hidden units of each of the two GRU layers.
      head_units: Width of the head that maps a state to the days ahead.
      dropout: Dropout rate of the hidden units.
      embedding_units: Width of each depot's embedding.
      embedding_dropout: Share of training windows whose embedding is dropped, so that
        depots without an embedding can be forecast.
    """

    units: int = bounded(1, 4096, 32)
    head_units: int = bounded(1, 4096, 64)
    dropout: float = bounded(0.0, 0.9, 0.3)
    embedding_units: int = bounded(1, 256, 8)
    embedding_dropout: float = bounded(0.0, 0.9, 0.3)


@dataclass(frozen=True)
class TrainConfig(Config):
    """Training settings.

    Attributes:
      epochs: Maximum number of passes over every depot's history.
      most_steps: Maximum number of optimiser steps; with a long history there are fewer passes.
      batch_size: Depot windows in one optimiser step.
      members: Networks in the ensemble, whose mean is the forecast.
      learning_rate: Peak rate of AdamW, after warm-up; decays to half of it.
      weight_decay: Weight decay of AdamW.
      huber_delta: Error, in log counts, at which the loss turns from squared to absolute. A
        small delta fits nearly the median, which percentage errors reward.
      average_decay: Decay per step of the running average of the weights.
      validation_days: Number of final days held out for calibration and scoring.
      seed: Seed of weights, dropout and the order of windows.
    """

    epochs: int = bounded(1, 100_000, 100)
    most_steps: int = bounded(1, 10_000_000, 800)
    batch_size: int = bounded(1, 1_000_000, 64)
    members: int = bounded(1, 64, 4)
    learning_rate: float = bounded(1e-7, 1.0, 6e-3)
    weight_decay: float = bounded(0.0, 1.0, 1e-2)
    huber_delta: float = bounded(1e-6, 100.0, 0.05)
    average_decay: float = bounded(0.0, 0.99999, 0.99)
    validation_days: int = bounded(1, 365, 28)
    seed: int = bounded(0, 2**31 - 1, 0)
