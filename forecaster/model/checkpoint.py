"""Saves and restores the progress of a training run with Orbax."""

import hashlib
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
import orbax.checkpoint as ocp

from forecaster.model import multihost
from forecaster.model.train_step import TrainState

PACKAGE = Path(__file__).parents[1]


class Progress(NamedTuple):
    """Everything needed to resume a training run."""

    # Epochs done.
    epoch: int
    state: TrainState


class Checkpoints:
    """Checkpoints of one training run: one data watermark, one configuration, one seed.

    Orbax writes each into its own folder and marks it when complete; an unmarked one, left
    by a crash, is removed and never restored. Where several processes train together, only
    process 0 reads, writes and broadcasts; the processes need no shared folder.
    """

    def __init__(self, directory: Path) -> None:
        """Opens the folder, and creates it if needed."""
        self._manager = _manager(directory) if multihost.is_first() else None

    def save(self, progress: Progress) -> None:
        """Starts to write a checkpoint in the background."""
        if self._manager is not None:
            tree = ocp.args.StandardSave(_on_host(progress))
            self._manager.save(progress.epoch, args=tree)

    def restore(self, start: Progress) -> Progress:
        """Returns the newest complete checkpoint, or else `start`; both have the same shapes."""
        stored = multihost.broadcast_from_first(self._newest(_on_host(start)))
        return stored._replace(epoch=int(stored.epoch))

    def _newest(self, start: Progress) -> Progress:
        """Returns the newest complete checkpoint, or else `start`; deletes those that are damaged."""
        if self._manager is None:
            return start
        like = jax.tree.map(ocp.utils.to_shape_dtype_struct, start)
        for epoch in sorted(self._manager.all_steps(), reverse=True):
            try:
                restored = self._manager.restore(
                    epoch, args=ocp.args.StandardRestore(like)
                )
            # Other errors, such as too many open files, may pass: they delete nothing.
            except (FileNotFoundError, ValueError, KeyError):
                # A power cut may leave files of a complete checkpoint without their content.
                self._manager.delete(epoch)
            else:
                return Progress(*restored)
        return start

    def __enter__(self) -> "Checkpoints":
        return self

    def __exit__(self, *_: object) -> None:
        """Waits for pending writes, and closes."""
        if self._manager is not None:
            self._manager.wait_until_finished()
            self._manager.close()


def _manager(directory: Path) -> ocp.CheckpointManager:
    options = ocp.CheckpointManagerOptions(
        max_to_keep=2,
        create=False,
        cleanup_tmp_directories=True,
        multiprocessing_options=ocp.options.MultiprocessingOptions(
            primary_host=0, active_processes={0}
        ),
    )
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return ocp.CheckpointManager(directory.absolute(), options=options)


def _on_host(progress: Progress) -> Progress:
    on_host: Progress = jax.tree.map(np.asarray, jax.device_get(progress))
    return on_host


def code_digest(package: Path = PACKAGE) -> str:
    """Digest of this package's code; a checkpoint from other code is not resumed."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package)} ".encode() + path.read_bytes())
    return digest.hexdigest()


def fingerprint(watermark: str, *settings: object) -> str:
    """Identifies one training run by its data, settings, code and library versions."""
    identity = repr(
        (watermark, settings, code_digest(), jax.__version__, ocp.__version__)
    )
    return hashlib.sha256(identity.encode()).hexdigest()[:16]
