"""Saves and restores the progress of a training with Orbax."""

import ast
import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import orbax.checkpoint as ocp

from forecaster.model import multihost
from forecaster.model.train_step import Params, TrainState

PACKAGE = Path(__file__).parents[1]


class Progress(NamedTuple):
    """Everything needed to resume a training.

    `best` holds the averaged weights of `best_epoch`, whose validation MAPE (a fraction)
    was `best_mape`.
    """

    epoch: int
    best_epoch: int
    best_mape: float
    state: TrainState
    best: Params


class Checkpoints:
    """The checkpoints of one training: one data watermark, one configuration, one seed.

    Orbax writes each into its own folder and marks it when complete; one that a crash left
    unmarked is removed and never restored. Of several processes that train together,
    process 0 alone reads and writes them, and broadcasts; they need no shared folder.
    """

    def __init__(self, directory: Path) -> None:
        """Opens the folder, and creates it if needed."""
        self._manager = _manager(directory) if multihost.is_first() else None

    def save(self, progress: Progress) -> None:
        """Starts to write in the background."""
        if self._manager is not None:
            tree = ocp.args.StandardSave(_as_tree(progress))
            self._manager.save(progress.epoch, args=tree)

    def restore(self, start: Progress) -> Progress:
        """Returns the newest complete checkpoint, or `start` where there is none.

        Args:
          start: Progress before the first epoch, of the same shapes.
        """
        tree = multihost.broadcast_from_first(self._newest(_as_tree(start)))
        return Progress(
            epoch=int(tree["epoch"]),
            best_epoch=int(tree["best_epoch"]),
            best_mape=float(tree["best_mape"]),
            state=TrainState(**tree["state"]),
            best=tree["best"],
        )

    def _newest(self, start: dict[str, Any]) -> dict[str, Any]:
        epoch = None if self._manager is None else self._manager.latest_step()
        if self._manager is None or epoch is None:
            return start
        like = jax.tree.map(ocp.utils.to_shape_dtype_struct, start)
        restored = self._manager.restore(epoch, args=ocp.args.StandardRestore(like))
        return dict(restored)

    def __enter__(self) -> "Checkpoints":
        """Opens; nothing to do."""
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


def _as_tree(progress: Progress) -> dict[str, Any]:
    """Converts progress to the stored tree of host arrays."""
    state, best = jax.device_get((progress.state, progress.best))
    return {
        "epoch": np.array(progress.epoch),
        "best_epoch": np.array(progress.best_epoch),
        "best_mape": np.array(progress.best_mape),
        "state": {
            "step": state.step,
            "params": state.params,
            "opt_state": state.opt_state,
            "average": state.average,
        },
        "best": best,
    }


def code_digest(package: Path = PACKAGE) -> str:
    """Digest of this package's code: a checkpoint of other code is not resumed.

    Comments, docstrings and layout do not count.
    """
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        tree = _WithoutText().visit(ast.parse(path.read_bytes()))
        digest.update(f"{path.relative_to(package)} {ast.dump(tree)}".encode())
    return digest.hexdigest()


class _WithoutText(ast.NodeTransformer):
    """Removes strings that are statements: docstrings, also those of constants."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        """Removes a string; keeps any other expression."""
        is_text = isinstance(node.value, ast.Constant) and isinstance(
            node.value.value, str
        )
        return None if is_text else node


def fingerprint(watermark: str, *settings: object) -> str:
    """Identifies one training by its data, settings, code and library versions."""
    identity = repr(
        (watermark, settings, code_digest(), jax.__version__, ocp.__version__)
    )
    return hashlib.sha256(identity.encode()).hexdigest()[:16]
