"""One night on a frozen clock, here or in a process of its own as the scheduler runs it.

`python -m tests.soak.night NIGHT [POINT]` stops at a point, as `tests.pipelines.faults.victim`.
"""

import sys
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from forecaster.config import ModelConfig, TaskConfig, TrainConfig
from pipelines.database.engine import open_engine
from pipelines.nightly.run import run_nightly
from pipelines.nightly.steps import NightlyContext
from pipelines.settings import Settings
from pipelines.training import train
from tests.pipelines.faults.faults import Victim, start_module
from tests.pipelines.faults.victim import CHECKPOINT, mid_checkpoint
from tests.soak.inbox_files import origin_of

HOUR = time(4, 30, tzinfo=UTC)
IN_TRAINING = "in training"


def now_after(night: int, later: timedelta = timedelta()) -> datetime:
    """The hour of the night that sees a night's origin last."""
    return datetime.combine(origin_of(night) + timedelta(days=1), HOUR) + later


def run_here(
    engine: sa.Engine, settings: Settings, night: int, later: timedelta = timedelta()
) -> dict[str, Any]:
    """Runs a night in this process."""
    train.build_recipe = small_recipe  # type: ignore[assignment]
    now = now_after(night, later)
    return run_nightly(NightlyContext(engine, settings, now, origin_of(night), _silent))


def start(home: Path, url: str, night: int, *point: str) -> Victim:
    """Starts a night in a process of its own."""
    return start_module("tests.soak.night", home, url, str(night), *point)


def small_recipe(*_: Any, **__: Any) -> Any:
    """A network that trains in a second, with two checkpoints on the way."""
    from forecaster.model.trainer import EPOCHS_BETWEEN_CHECKPOINTS
    from forecaster.model.two_stage_fit import Recipe

    return Recipe(
        TaskConfig(horizon=7, context=28),
        ModelConfig(units=4, head_units=4),
        TrainConfig(
            epochs=CHECKPOINT * EPOCHS_BETWEEN_CHECKPOINTS + 1,
            batch_size=8,
            validation_days=14,
        ),
    )


def _silent(_fit: str) -> Any:
    return lambda *_: None


def main() -> None:
    """Runs the night of the command line."""
    night, *point = sys.argv[1:]
    if point == [IN_TRAINING]:
        mid_checkpoint()
    settings = Settings.load()
    with open_engine(settings) as engine:
        run_here(engine, settings, int(night))


if __name__ == "__main__":
    main()
