"""The real training step compiles for a TPU that is not here."""

import importlib.util
import json
import subprocess
import sys

from tests.deploy.tools import skip_or_fail

COMMAND = [sys.executable, "-m", "pipelines", "tpu-check"]


def test_the_step_of_a_v4_8_compiles_and_fits(monkeypatch):
    if importlib.util.find_spec("libtpu") is None:
        skip_or_fail("needs libtpu, the TPU's compiler: pip install -r deploy/tpu.lock")
    monkeypatch.delenv("XLA_FLAGS")  # those of the tests leave most optimisation out
    done = subprocess.run(
        [*COMMAND, "--json"], capture_output=True, text=True, check=True
    )
    told = json.loads(done.stdout)
    assert told["cores"] == 8
    assert told["batch_size"] % told["cores"] == 0
    assert told["collectives"]["all-reduce"] >= 1
    assert 0 < told["bytes_per_core"] < 0.8 * told["hbm_bytes_per_core"]
    assert told["largest_batch"] > told["batch_size"]


def test_a_topology_that_cannot_be_had_is_refused_with_what_to_do():
    command = [*COMMAND, "--topology", "v99:2x2x1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "v99:2x2x1" in done.stderr
    assert "such as v4:2x2x1" in done.stderr
    assert "Traceback" not in done.stderr
