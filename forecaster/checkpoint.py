"""Orbax save and restore of a training's progress."""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import orbax.checkpoint as ocp

from forecaster.train import Params, TrainState


class Progress(NamedTuple):
    """All that decides how training goes on.

    `best` holds the averaged weights of `best_epoch`, whose validation MAPE (a fraction)
    was `best_mape`.
    """

    epoch: int
    best_epoch: int
    best_mape: float
    state: TrainState
    best: Params


class Checkpoints:
    """The states of one training: one data watermark, one configuration, one seed.

    Orbax writes each into a folder of its own and marks it when it is whole; one that a
    crash left unmarked is cleaned away and never restored.
    """

    def __init__(self, directory: Path) -> None:
        """Opens the folder, which is made if it is not there."""
        options = ocp.CheckpointManagerOptions(
            max_to_keep=2, create=True, cleanup_tmp_directories=True
        )
        self._manager = ocp.CheckpointManager(directory.absolute(), options=options)

    def save(self, progress: Progress) -> None:
        """Starts to write; training goes on meanwhile."""
        self._manager.save(
            progress.epoch, args=ocp.args.StandardSave(_as_tree(progress))
        )

    def restore(self, start: Progress) -> Progress:
        """The newest whole checkpoint, or `start` where there is none.

        Args:
          start: Progress of the same shape, as before the first epoch.
        """
        epoch = self._manager.latest_step()
        if epoch is None:
            return start
        like = jax.tree.map(ocp.utils.to_shape_dtype_struct, _as_tree(start))
        tree = self._manager.restore(epoch, args=ocp.args.StandardRestore(like))
        return Progress(
            epoch=epoch,
            best_epoch=int(tree["best_epoch"]),
            best_mape=float(tree["best_mape"]),
            state=TrainState(**tree["state"]),
            best=tree["best"],
        )

    def wait(self) -> None:
        """Waits until everything saved is on disk."""
        self._manager.wait_until_finished()

    def __enter__(self) -> "Checkpoints":
        """Opens; nothing to do."""
        return self

    def __exit__(self, *_: object) -> None:
        """Waits for writing to end, and closes."""
        self._manager.wait_until_finished()
        self._manager.close()


def _as_tree(progress: Progress) -> dict[str, Any]:
    """What is stored: arrays and numbers only."""
    state = progress.state
    return {
        "best_epoch": np.array(progress.best_epoch),
        "best_mape": np.array(progress.best_mape),
        "state": {
            "step": state.step,
            "params": state.params,
            "opt_state": state.opt_state,
            "average": state.average,
        },
        "best": progress.best,
    }


def code_digest() -> str:
    """Names this room's code: a state of other code is not gone on from."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def fingerprint(watermark: str, *settings: object) -> str:
    """Names one training: by its data, everything it was told, the code, and the libraries."""
    told = repr((watermark, settings, code_digest(), jax.__version__, ocp.__version__))
    return hashlib.sha256(told.encode()).hexdigest()[:16]
