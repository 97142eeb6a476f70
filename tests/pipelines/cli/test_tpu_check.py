"""The real training step compiles for a TPU that is not here."""

import importlib.util
import json

from tests.deploy.tools import skip_or_fail
from tests.processes import run_python

CHECKS = """
import json
from tests.pipelines.in_process import harbor
for topology in ("v99:2x2x1", "v4:2x2x1"):
    print(json.dumps(vars(harbor("tpu-check", "--json", "--topology", topology))))
"""


def test_the_step_of_a_v4_8_compiles_and_fits_and_an_unknown_topology_is_refused(
    monkeypatch,
):
    if importlib.util.find_spec("libtpu") is None:
        skip_or_fail("needs libtpu, the TPU's compiler: pip install -r deploy/tpu.lock")
    monkeypatch.delenv("XLA_FLAGS")  # those of the tests leave most optimisation out
    unknown, known = map(json.loads, run_python(CHECKS).stdout.splitlines())
    assert unknown["returncode"] == 1
    assert "v99:2x2x1" in unknown["stderr"]
    assert "such as v4:2x2x1" in unknown["stderr"]
    told = json.loads(known["stdout"])
    assert told["cores"] == 8
    assert told["batch_size"] % told["cores"] == 0
    assert told["collectives"]["all-reduce"] >= 1
    assert 0 < told["bytes_per_core"] < 0.8 * told["hbm_bytes_per_core"]
    assert told["largest_batch"] > told["batch_size"]
