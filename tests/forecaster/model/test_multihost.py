"""Two processes that train together make the model that one makes."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from forecaster.config import TrainConfig
from forecaster.errors import ConfigError
from forecaster.model import multihost
from forecaster.model.trainer import fit
from tests.forecaster.model.test_trainer import MODEL, TASK, TRAIN, features_of, flat
from tests.make import make_panel
from tests.ports import free_port

EPOCHS = 11
CHILD = """
import json, sys
from dataclasses import replace
from pathlib import Path
import jax
from forecaster.model import multihost
from forecaster.model.checkpoint import Checkpoints
from forecaster.errors import TrainingError
from forecaster.model.trainer import fit
from tests.forecaster.model.test_trainer import MODEL, TASK, TRAIN, features_of, flat
from tests.forecaster.model.test_multihost import EPOCHS, panels

process, port, folder = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
multihost.join(f"127.0.0.1:{port}", 2, process)
earlier, panel = panels()
output = {"devices": jax.device_count(), "epochs": [], "sentence": ""}
for try_ in ("first", "again"):
    with Checkpoints(folder / str(process)) as checkpoints:
        fitted = fit(features_of(earlier), TASK, MODEL, replace(TRAIN, epochs=EPOCHS),
                     features_of(panel), checkpoints=checkpoints,
                     report=lambda epoch, *_: output["epochs"].append(epoch))
    output[try_] = [fitted.validation_mape, flat(fitted.params).tolist()]
try:
    multihost.assert_same_inputs(b"other data of process %d" % process)
except TrainingError as error:
    output["sentence"] = str(error)
# Not to a pipe: a process that waits for a reader keeps the other one waiting.
Path(sys.argv[4]).write_text(json.dumps(output))
"""
LONGEST_S = 120


def panels():
    """What a fit learns from, and the same with its validation days."""
    panel = make_panel(n_depots=5, n_days=150)
    return panel.as_of(panel.day(panel.n_steps - 15)), panel


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("checkpoints")


@pytest.fixture(scope="module")
def output(folder, tmp_path_factory):
    """What each of the two processes says."""
    port, where = str(free_port()), tmp_path_factory.mktemp("output")
    answers = [where / "0.json", where / "1.json"]
    with (where / "errors").open("w") as errors:
        children = [
            subprocess.Popen(
                [sys.executable, "-c", CHILD, str(process), port, folder, answer],
                stdout=errors,
                stderr=errors,
            )
            for process, answer in enumerate(answers)
        ]
    try:
        codes = [child.wait(timeout=LONGEST_S) for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait()
    reported = (where / "errors").read_text()
    if "UNIMPLEMENTED" in reported and "ollectives" in reported:
        pytest.skip(
            "needs collectives between processes: this jaxlib has none for CPUs"
        )
    assert codes == [0, 0], reported
    return [json.loads(answer.read_text()) for answer in answers]


def test_two_processes_give_the_weights_of_one(output):
    earlier, panel = panels()
    config = replace(TRAIN, epochs=EPOCHS)
    alone = fit(features_of(earlier), TASK, MODEL, config, features_of(panel))
    for each in output:
        mape, weights = each["first"]
        assert each["devices"] == 2
        assert mape == pytest.approx(alone.validation_mape, abs=1e-5)
        np.testing.assert_allclose(weights, flat(alone.params), atol=1e-4)


def test_both_processes_hold_the_same_bits(output):
    assert output[0]["first"] == output[1]["first"]


def test_only_the_first_writes_checkpoints_and_both_go_on_from_them(output, folder):
    assert [path.name for path in folder.iterdir()] == ["0"]
    for each in output:
        assert each["epochs"] == [*range(1, EPOCHS + 1), EPOCHS]
        assert each["again"] == each["first"]


def test_processes_with_different_inputs_refuse_to_train(output):
    for each in output:
        assert "The 2 processes read different data or settings" in each["sentence"]


def test_a_process_that_cannot_be_is_refused():
    with pytest.raises(ConfigError, match=r"process is 2.*counted from 0 to 1"):
        multihost.join("127.0.0.1:1", processes=2, process=2)


def test_alone_a_process_has_every_row_and_tells_itself():
    assert multihost.own_rows(TrainConfig().batch_size) == slice(0, 64)
    assert multihost.broadcast_from_first({"a": 1.5}) == {"a": 1.5}
