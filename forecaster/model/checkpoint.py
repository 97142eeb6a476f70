"""Orbax save and restore of a training's progress."""

import ast
import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import orbax.checkpoint as ocp

from forecaster.model import multihost
from forecaster.model.train_step import Params, TrainState

ROOM = Path(__file__).parents[1]


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
    crash left unmarked is cleaned away and never restored. Of several processes that
    train together, process 0 alone writes and reads them, and tells the others; so they
    need no folder in common.
    """

    def __init__(self, directory: Path) -> None:
        """Opens the folder, which is made if it is not there."""
        self._manager = _manager(directory) if multihost.is_first() else None

    def save(self, progress: Progress) -> None:
        """Starts to write; training goes on meanwhile."""
        if self._manager is not None:
            tree = ocp.args.StandardSave(_as_tree(progress))
            self._manager.save(progress.epoch, args=tree)

    def restore(self, start: Progress) -> Progress:
        """The newest whole checkpoint, or `start` where there is none.

        Args:
          start: Progress of the same shape, as before the first epoch.
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
        found = self._manager.restore(epoch, args=ocp.args.StandardRestore(like))
        return dict(found)

    def __enter__(self) -> "Checkpoints":
        """Opens; nothing to do."""
        return self

    def __exit__(self, *_: object) -> None:
        """Waits for writing to end, and closes."""
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
    """What is stored: arrays on the host and numbers only."""
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


def code_digest(room: Path = ROOM) -> str:
    """Names this room's code: a state of other code is not gone on from.

    Comments, docstrings and layout are no code.
    """
    digest = hashlib.sha256()
    for path in sorted(room.rglob("*.py")):
        tree = _WithoutText().visit(ast.parse(path.read_bytes()))
        digest.update(f"{path.relative_to(room)} {ast.dump(tree)}".encode())
    return digest.hexdigest()


class _WithoutText(ast.NodeTransformer):
    """Takes away strings that stand as statements: docstrings, and those of constants."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        """Drops a string; any other expression stays."""
        is_text = isinstance(node.value, ast.Constant) and isinstance(
            node.value.value, str
        )
        return None if is_text else node


def fingerprint(watermark: str, *settings: object) -> str:
    """Names one training: by its data, everything it was told, the code, and the libraries."""
    told = repr((watermark, settings, code_digest(), jax.__version__, ocp.__version__))
    return hashlib.sha256(told.encode()).hexdigest()[:16]
