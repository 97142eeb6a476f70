"""Settings of training and its forecasts: horizon, point, seed, compile cache, processes."""

from typing import Self

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings

from forecaster.config import DEFAULT_POINT, MAX_HORIZON, PointFor
from pipelines.settings.field_types import MAX_MIB


class TrainingSettings(BaseSettings):
    """A part of `Settings`, which reads the environment."""

    horizon: int = Field(default=7, ge=1, le=MAX_HORIZON, description="Days forecast.")
    point: PointFor = Field(
        default=DEFAULT_POINT,
        description="What the forecast that is shown and scored optimises: median is as likely "
        "too high as too low, mape has the lowest percentage errors, balanced lies between.",
    )
    seed: int = Field(default=0, ge=0, le=2**31 - 1, description="Seed of training.")
    compile_cache_mib: int = Field(
        default=512,
        ge=0,
        le=MAX_MIB,
        description="Disk for JAX's compilation cache, per type of processor; 0: no cache.",
    )
    coordinator: str | None = Field(
        default=None,
        pattern=r"^.+:\d+$",
        description="Host and port of process 0, which coordinates the processes that "
        "train together. Each runs `harbor train` on the same database.",
    )
    processes: int = Field(
        default=1, ge=1, le=4096, description="Processes that train together."
    )
    process: int = Field(
        default=0,
        ge=0,
        le=4095,
        description="Index of this process; only 0 writes checkpoints, models and runs.",
    )

    @model_validator(mode="after")
    def _processes_know_each_other(self) -> Self:
        if self.process >= self.processes:
            raise ValueError(
                f"HARBOR_PROCESS is {self.process}, but must be less than HARBOR_PROCESSES "
                f"({self.processes}): the processes are counted from 0"
            )
        if self.processes > 1 and self.coordinator is None:
            raise ValueError(
                f"HARBOR_PROCESSES is {self.processes}, but without HARBOR_COORDINATOR, the host "
                "and port of process 0, they cannot find each other"
            )
        return self
