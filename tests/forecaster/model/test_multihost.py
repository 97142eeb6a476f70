"""Training in two processes gives the weights of training in one."""

import json
import subprocess
import sys
from dataclasses import replace

import jax
import numpy as np
import pytest

from forecaster.config import TaskConfig, TrainConfig
from forecaster.data import sampling
from forecaster.errors import ConfigError
from forecaster.model import multihost, train_step
from forecaster.model.trainer import fit
from tests.forecaster.model.test_trainer import MODEL, TRAIN, features_of, flat
from tests.make import make_panel
from tests.ports import free_port

# Small, so that it compiles quickly: no cache keeps a program of several processes.
TASK = TaskConfig(horizon=2, context=20)
UNEVEN = replace(TRAIN, epochs=5, batch_size=7)
"""The batch size is odd, so that the last row of the second process is padding."""
CHILD = """
import json, sys
from pathlib import Path
import jax
from forecaster.model import multihost, trainer
from forecaster.model.checkpoint import Checkpoints
from forecaster.errors import TrainingError
from forecaster.model.trainer import fit
from tests.forecaster.model.test_trainer import MODEL, features_of, flat
from tests.forecaster.model.test_multihost import TASK, UNEVEN
from tests.make import make_panel

trainer.EPOCHS_BETWEEN_CHECKPOINTS = UNEVEN.epochs - 1
index, port, folder = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
multihost.join(f"127.0.0.1:{port}", 2, index)
panel = make_panel(n_depots=5, n_days=150)
result = {"devices": jax.device_count(), "epochs": [], "error": ""}
for fit_name in ("first", "resumed"):
    with Checkpoints(folder / str(index)) as checkpoints:
        fitted = fit(features_of(panel), TASK, MODEL, UNEVEN,
                     checkpoints=checkpoints,
                     report=lambda epoch, *_: result["epochs"].append(epoch))
    result[fit_name] = [fitted.loss, flat(fitted.params).tolist()]
try:
    multihost.assert_same_inputs(b"other data of process %d" % index)
except TrainingError as error:
    result["error"] = str(error)
# A file, not a pipe: a process that blocks on a full pipe would block the other one.
Path(sys.argv[4]).write_text(json.dumps(result))
"""
TIMEOUT_S = 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("checkpoints")


@pytest.fixture(scope="module")
def outputs(folder, tmp_path_factory):
    """Results of both processes, in order of their index."""
    port, where = str(free_port()), tmp_path_factory.mktemp("outputs")
    paths = [where / "0.json", where / "1.json"]
    with (where / "errors").open("w") as errors:
        children = [
            subprocess.Popen(
                [sys.executable, "-c", CHILD, str(process), port, folder, path],
                stdout=errors,
                stderr=errors,
            )
            for process, path in enumerate(paths)
        ]
    try:
        codes = [child.wait(timeout=TIMEOUT_S) for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait()
    stderr_text = (where / "errors").read_text()
    if "UNIMPLEMENTED" in stderr_text and "ollectives" in stderr_text:
        pytest.skip(
            "needs collectives between processes: this jaxlib has none for CPUs"
        )
    assert codes == [0, 0], stderr_text
    return [json.loads(path.read_text()) for path in paths]


def test_two_processes_give_the_weights_of_one(outputs):
    panel = make_panel(n_depots=5, n_days=150)
    alone = fit(features_of(panel), TASK, MODEL, UNEVEN)
    for each in outputs:
        loss, weights = each["first"]
        assert each["devices"] == 2
        assert loss == pytest.approx(alone.loss, rel=1e-4)
        np.testing.assert_allclose(weights, flat(alone.params), atol=1e-4)


def test_padding_has_no_weight_and_repeats_the_last_row():
    features = features_of(make_panel(n_depots=5, n_days=150))
    rows = list(sampling.epoch_rows(features, TASK, 7, seed=0, epoch=0))
    (whole, *_) = train_step.batches(features, TASK, iter(rows), range(7))
    (own, *_) = train_step.batches(features, TASK, iter(rows), range(4, 8))
    assert own.row_b.tolist() == [4, 5, 6, 7]
    assert own.weight_b.tolist() == [*whole.weight_b[4:], 0.0]
    leaves = jax.tree.leaves(own.windows), jax.tree.leaves(whole.windows)
    for part, all_rows in zip(*leaves, strict=True):
        np.testing.assert_array_equal(part, all_rows[[4, 5, 6, 6]])


def test_processes_with_different_numbers_of_devices_are_refused(monkeypatch):
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    monkeypatch.setattr(
        jax, "local_devices", lambda process: ["device"] * (4 - process)
    )
    with pytest.raises(ConfigError, match=r"have 4, 3 devices.*the same number"):
        multihost.training_devices(64)


def test_both_processes_have_bitwise_equal_weights(outputs):
    assert outputs[0]["first"] == outputs[1]["first"]


def test_only_process_0_writes_checkpoints_and_both_resume_from_them(outputs, folder):
    assert [path.name for path in folder.iterdir()] == ["0"]
    for each in outputs:
        assert each["epochs"] == [*range(1, UNEVEN.epochs + 1), UNEVEN.epochs]
        assert each["resumed"] == each["first"]


def test_processes_with_different_inputs_refuse_to_train(outputs):
    for each in outputs:
        assert "The 2 processes read different data or settings" in each["error"]


def test_an_index_not_below_the_number_of_processes_is_refused():
    with pytest.raises(ConfigError, match=r"process is 2.*counted from 0 to 1"):
        multihost.join("127.0.0.1:1", n_processes=2, process_index=2)


def test_a_single_process_has_every_row_and_broadcasts_to_itself():
    assert multihost.own_rows(TrainConfig().batch_size) == range(64)
    assert multihost.broadcast_from_first({"a": 1.5}) == {"a": 1.5}
