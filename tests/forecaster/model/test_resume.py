"""A training whose process is killed is resumed, and ends with the same result."""

import hashlib
import signal
import subprocess
import sys
from dataclasses import replace

from forecaster.config import TaskConfig
from forecaster.model.checkpoint import Checkpoints, code_digest
from forecaster.model.trainer import fit
from tests.forecaster.model.test_trainer import MODEL, TRAIN, features_of, flat
from tests.make import make_panel

CHILD = """
import sys
from pathlib import Path
from tests.forecaster.model.test_resume import train
train(Path(sys.argv[1]), lambda epoch: print(epoch, flush=True))
"""


def train(folder, report):
    """Trains with checkpoints in a folder; returns what identifies the result."""
    # Small, so that it compiles quickly.
    task, config = (
        TaskConfig(horizon=2, context=20),
        replace(TRAIN, epochs=30, members=2),
    )
    features = features_of(make_panel(n_depots=4, n_days=150))
    with Checkpoints(folder) as checkpoints:
        fitted = fit(
            features, task, MODEL, config,
            checkpoints=checkpoints, report=lambda epoch, *_: report(epoch),
        )  # fmt: skip
    weights = hashlib.sha256(flat(fitted.params).tobytes()).hexdigest()
    return weights, fitted.epochs, fitted.loss


def killed(folder, at):
    """Kills a training in an epoch, and returns the epochs that it reported."""
    command = [sys.executable, "-c", CHILD, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        epochs = []
        for line in process.stdout:
            epochs.append(int(line))
            if epochs[-1] == at:
                process.kill()
                break
        process.stdout.read()
    assert process.returncode == -signal.SIGKILL
    return epochs


def test_killed_it_ends_with_the_same_weights(tmp_path):
    """Checkpoints are ten epochs apart; the newest may be incomplete."""
    unbroken = train(tmp_path / "unbroken", lambda _: None)
    folder, epochs = tmp_path / "killed", []
    assert killed(folder, at=25)[0] == 1
    assert train(folder, epochs.append) == unbroken
    assert epochs[0] in (11, 21)


def test_only_a_training_by_the_same_code_is_resumed(tmp_path):
    (tmp_path / "inner").mkdir()
    file = tmp_path / "inner" / "step.py"
    file.write_text("RATE = 0.1")
    before = code_digest(tmp_path)
    assert code_digest(tmp_path) == before
    file.write_text("RATE = 0.2")
    assert code_digest(tmp_path) != before
