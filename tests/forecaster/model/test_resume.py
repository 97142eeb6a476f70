"""A killed training resumes from a checkpoint, and ends with the same result."""

import errno
import gc
import os
import signal
import subprocess
import sys
from dataclasses import replace
from unittest.mock import Mock

import orbax.checkpoint as ocp
import pytest

from forecaster.config import TaskConfig
from forecaster.model.checkpoint import Checkpoints, code_digest
from forecaster.model.trainer import fit
from tests.forecaster.model.test_trainer import MODEL, features_of, flat
from tests.forecaster.model.test_trainer import TRAIN as CONFIG
from tests.make import make_panel

TRAIN = """
import sys, hashlib
from pathlib import Path
from dataclasses import replace
from forecaster.model.checkpoint import Checkpoints
from forecaster.model.trainer import fit
from forecaster.config import TaskConfig
from tests.forecaster.model.test_trainer import MODEL, TRAIN, features_of, flat
from tests.make import make_panel

panel = make_panel(n_depots=4, n_days=150)
# Small, so that it compiles quickly.
task, config = TaskConfig(horizon=2, context=20), replace(TRAIN, epochs=30, members=1)

def report(epoch, *_):
    print("epoch", epoch, flush=True)

with Checkpoints(Path(sys.argv[1])) as checkpoints:
    fitted = fit(features_of(panel), task, MODEL, config,
                 checkpoints=checkpoints, report=report)
for each in (fitted, fit(features_of(panel), task, MODEL, config)):
    weights = hashlib.sha256(flat(each.params).tobytes()).hexdigest()
    print("done", weights, each.epochs, each.loss)
"""


def started(folder):
    """Starts a training; both share a compile cache, which the killed one fills."""
    cache = {
        "JAX_COMPILATION_CACHE_DIR": str(folder.parent / "compiled"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    return subprocess.Popen(
        [sys.executable, "-c", TRAIN, str(folder)],
        env={**os.environ, **cache},
        stdout=subprocess.PIPE,
        text=True,
    )


def finished(folder):
    """The epochs that a training reports, its result, and that of one without checkpoints."""
    with started(folder) as process:
        *epochs, ended, unbroken = process.stdout.read().splitlines()
    assert process.returncode == 0
    return [int(line.split()[1]) for line in epochs], ended, unbroken


def killed(folder, at):
    """Kills a training in an epoch, and returns the epochs that it reported."""
    with started(folder) as process:
        epochs = []
        for line in process.stdout:
            epochs.append(int(line.split()[1]))
            if epochs[-1] == at:
                process.kill()
                break
        process.stdout.read()
    assert process.returncode == -signal.SIGKILL
    return epochs


def test_killed_it_ends_with_the_same_weights(tmp_path):
    """Checkpoints are ten epochs apart; the newest may be incomplete."""
    folder = tmp_path / "killed"
    assert killed(folder, at=25)[0] == 1
    epochs, ended, unbroken = finished(folder)
    assert ended == unbroken
    assert epochs[0] in (11, 21)


def test_only_a_training_by_the_same_code_is_resumed(tmp_path):
    (tmp_path / "inner").mkdir()
    file = tmp_path / "inner" / "step.py"
    file.write_text("RATE = 0.1")
    before = code_digest(tmp_path)
    assert code_digest(tmp_path) == before
    file.write_text("RATE = 0.2")
    assert code_digest(tmp_path) != before


@pytest.fixture
def trained(tmp_path):
    """Trains twenty epochs from the newest checkpoint; returns the weights, and the epochs run."""
    features = features_of(make_panel(n_depots=4, n_days=150))
    task = TaskConfig(horizon=2, context=20)
    config = replace(CONFIG, epochs=20, members=1)

    def run():
        epochs = []
        with Checkpoints(tmp_path) as checkpoints:
            fitted = fit(
                features, task, MODEL, config, checkpoints=checkpoints,
                report=lambda epoch, *_: epochs.append(epoch),
            )  # fmt: skip
        return flat(fitted.params), epochs

    return run


# What Orbax was reading beside the damaged file is left unread.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", ["manifest.ocdbt", "_METADATA"])
@pytest.mark.parametrize(("damaged", "n_again"), [(["20"], 10), (["10", "20"], 20)])
def test_a_training_is_resumed_from_its_newest_undamaged_checkpoint(
    tmp_path, trained, name, damaged, n_again
):
    """As after a power cut: the files are there, and empty."""
    unbroken, _ = trained()
    for epoch in damaged:
        (tmp_path / epoch / "default" / name).write_bytes(b"")
    weights, epochs = trained()
    assert len(epochs) == n_again
    assert (weights == unbroken).all()
    assert trained()[1] == []
    gc.collect()


def test_an_error_that_may_pass_deletes_no_checkpoint(tmp_path, trained, monkeypatch):
    trained()
    many = OSError(errno.EMFILE, "Too many open files")
    monkeypatch.setattr(ocp.CheckpointManager, "restore", Mock(side_effect=many))
    with pytest.raises(OSError, match="Too many"):
        trained()
    monkeypatch.undo()
    assert trained()[1] == []
