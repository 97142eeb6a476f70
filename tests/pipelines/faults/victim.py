"""The program with a place at which it stops, so that something can happen to it there.

`python -m tests.pipelines.faults.victim POINT [harbor's arguments]` runs `harbor` as it is, but
says `here` when it comes to the point, and waits for a line before it goes on. The
program itself knows nothing of the points.
"""

import os
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg

from forecaster.config import ModelConfig, TaskConfig, TrainConfig
from forecaster.inference import artefact
from pipelines import cli
from pipelines.ingest.load import service
from pipelines.store import forecasts
from pipelines.store import ingest as store
from pipelines.training import train
from tests.make import make_artefact

NOWHERE = "nowhere"
JUDGED_DAYS = 14
ORDERS_FILE = 2
"""The second file of the three in the inbox is the one something happens to."""
CHECKPOINT = 2
"""The second of them too, so that there is one to go on from."""
EPOCHS_BETWEEN_CHECKPOINTS = 2


def pause() -> None:
    """Says that the point is reached, and waits to be told to go on."""
    sys.stdout.write("here\n")
    sys.stdout.flush()
    sys.stdin.readline()


class At:
    """Stops at the nth call of a function, before or after it."""

    def __init__(
        self, module: Any, name: str, nth: int, *, before: bool = False
    ) -> None:
        self.whole, self.nth, self.before = getattr(module, name), nth, before
        setattr(module, name, self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.nth -= 1
        if self.before and self.nth == 0:
            pause()
        done = self.whole(*args, **kwargs)
        if not self.before and self.nth == 0:
            pause()
        return done


def file_claimed() -> None:
    At(store, "add_file", ORDERS_FILE)


def mid_copy() -> None:
    whole, calls = psycopg.Copy.write, iter(range(1, 1000))

    def half(copy: Any, rows: Any) -> None:
        middle = len(rows) // 2 if next(calls) == ORDERS_FILE else 0
        if middle:
            whole(copy, rows[:middle])
            pause()
        whole(copy, rows[middle:])

    psycopg.Copy.write = half  # type: ignore[method-assign]


def before_commit() -> None:
    At(store, "finish_loads", ORDERS_FILE)


def after_commit() -> None:
    end, calls = service._Groups.end, iter(range(1, 1000))

    def paused(groups: Any) -> None:
        end(groups)
        if next(calls) == ORDERS_FILE:
            pause()

    service._Groups.end = paused  # type: ignore[method-assign]


def mid_checkpoint() -> None:
    """Orbax writes a checkpoint beside its place, and renames it when it is whole."""
    for name in ("rename", "replace"):
        _before_renaming(name)


def _before_renaming(name: str) -> None:
    whole, told = getattr(os, name), []

    def rename(source: Any, target: Any, **where: Any) -> None:
        if "/checkpoints/" in str(target) and Path(target).name.isdigit():
            told.append(target)
            if len(told) == CHECKPOINT:
                pause()
        whole(source, target, **where)

    setattr(os, name, rename)


def artefact_not_renamed() -> None:
    whole: Callable[[Path, Path], Path] = Path.replace

    def replace(staging: Path, path: Path) -> Path:
        if path.suffix == ".npz":
            pause()
        return whole(staging, path)

    Path.replace = replace  # type: ignore[assignment,method-assign]


def renamed_not_recorded() -> None:
    At(artefact, "save", 1)


def mid_forecast() -> None:
    # Those of depots are written, those of the fleet and its cities are not.
    At(forecasts, "replace_totals", 1, before=True)


POINTS = {
    "file claimed": file_claimed,
    "mid-COPY": mid_copy,
    "before commit": before_commit,
    "after commit": after_commit,
    "mid-checkpoint": mid_checkpoint,
    "artefact not renamed": artefact_not_renamed,
    "renamed, not recorded": renamed_not_recorded,
    "mid-forecast": mid_forecast,
}
TRAINS = "mid-checkpoint"


def invent_training(put: Callable[[Any, str, Any], None] = setattr) -> None:
    """Weights by chance, at once: what is published and how is as it always is.

    Args:
      put: Sets an attribute of a module; a test in its own process has it put back.
    """
    fit = SimpleNamespace(epochs=1, steps=1)

    def learn(panel: Any, *_: Any) -> Any:
        earlier = panel.as_of(panel.origin - timedelta(days=JUDGED_DAYS))
        return SimpleNamespace(
            evaluation=make_artefact(earlier), production=make_artefact(panel),
            evaluation_fit=fit, production_fit=fit, seconds=0.0,
        )  # fmt: skip

    put(train, "_fit", learn)
    put(train, "build_recipe", lambda *_, **__: SimpleNamespace())
    nowhere = lambda _, settings, __: settings.checkpoints / "none"  # noqa: E731
    put(train, "_checkpoint_folder", nowhere)


def train_a_little() -> None:
    """Some epochs of a small network, and two checkpoints."""
    from forecaster.model import trainer
    from forecaster.model.two_stage_fit import Recipe

    trainer.EPOCHS_BETWEEN_CHECKPOINTS = EPOCHS_BETWEEN_CHECKPOINTS
    recipe = Recipe(
        TaskConfig(horizon=7, context=28),
        ModelConfig(units=4, head_units=4),
        TrainConfig(
            epochs=CHECKPOINT * EPOCHS_BETWEEN_CHECKPOINTS + 1,
            batch_size=8,
            validation_days=JUDGED_DAYS,
        ),
    )
    train.build_recipe = lambda *_, **__: recipe


def main() -> None:
    """Runs `harbor` with the point in it; trains where the point, or `nowhere!`, asks."""
    point, *arguments = sys.argv[1:]
    trains = point in (TRAINS, f"{NOWHERE}!")
    (train_a_little if trains else invent_training)()
    if point in POINTS:
        POINTS[point]()
    sys.argv = ["harbor", *arguments]
    cli.main()


if __name__ == "__main__":
    main()
