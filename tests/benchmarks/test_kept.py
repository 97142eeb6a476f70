"""Measured ratios are held against the kept ones; no benchmark is run."""

import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.benchmarks import check, kept, ratios
from tests.benchmarks.kept import Kept
from tests.benchmarks.machine import commit

FROM = ("2026-11-21", "here", "abc1234")
SPEED = Kept("ingest.csv.of_copy", 0.5, "higher", 0.1, *FROM)
MEMORY = Kept("ingest.csv.peak_mib", 200.0, "lower", 0.1, *FROM)
COMPILED = Kept("speed.second_night", 0.0, "lower", 0.0, *FROM)


@pytest.mark.parametrize(
    ("entry", "measured", "state"),
    [
        pytest.param(SPEED, 0.45, "as kept", id="at the limit"),
        pytest.param(SPEED, 0.44, "worse", id="clearly slower"),
        pytest.param(SPEED, 0.60, "better", id="clearly faster"),
        pytest.param(MEMORY, 219.0, "as kept", id="a little more memory"),
        pytest.param(MEMORY, 221.0, "worse", id="clearly more memory"),
        pytest.param(COMPILED, 0.0, "as kept", id="none is none"),
        pytest.param(COMPILED, 1.0, "worse", id="one is more than none"),
        pytest.param(SPEED, math.nan, "missing", id="not a number"),
    ],
)
def test_a_ratio_is_judged(entry, measured, state):
    (verdict,) = kept.judge([entry], {entry.name: measured})
    assert verdict.state == state


@pytest.mark.parametrize(
    ("part", "measured", "state", "runs"),
    [
        pytest.param("ingest", (0.2, 0.49), "as kept", 2, id="noise is forgiven"),
        pytest.param("ingest", (0.2, 0.3), "worse", 2, id="twice is worse"),
        pytest.param("ingest", (0.5,), "as kept", 1, id="good is not repeated"),
        pytest.param("accuracy.here", (0.2,), "worse", 1, id="scores have no noise"),
    ],
)
def test_a_benchmark_is_repeated_before_it_is_called_worse(part, measured, state, runs):
    entry = replace(SPEED, name=f"{part}.of_copy")
    commands, waiting = [], list(measured)

    def run(command):
        commands.append(command)
        return {entry.name: waiting.pop(0)}

    (verdict,) = check.check({part: ["it"]}, [entry, COMPILED], run, tries=2)
    assert (verdict.state, len(commands)) == (state, runs)


def test_accuracy_is_a_part_for_each_folder():
    commands = check.commands_of(["accuracy"], [Path("DATA/here"), Path("DATA/there")])
    assert list(commands) == ["accuracy.here", "accuracy.there"]
    assert "DATA/there" in commands["accuracy.there"]


def test_a_run_is_read_from_what_it_wrote_and_a_failure_ends_the_check(capfd):
    write = (
        "import json, sys; at = sys.argv[sys.argv.index('--json') + 1]; "
        "open(at, 'w').write(json.dumps({'ratios': {'x.y': 2.0}}))"
    )
    assert check.run([sys.executable, "-c", write]) == {"x.y": 2.0}
    with pytest.raises(SystemExit, match="ended with 3"):
        check.run([sys.executable, "-c", "raise SystemExit(3)"])


def test_keeping_what_was_measured_moves_its_value_and_its_commit_only(tmp_path):
    ratios.write(tmp_path / "it.json", "ingest", {"csv.of_copy": 0.7, "unknown": 1.0})
    kept.write([SPEED, MEMORY], tmp_path / "kept.json")
    check.keep(ratios.read(tmp_path / "it.json"), tmp_path / "kept.json")
    speed, memory = kept.read(tmp_path / "kept.json")
    assert (speed.value, speed.worse_by, memory) == (0.7, 0.1, MEMORY)
    assert speed.commit == commit() != SPEED.commit


def test_every_kept_ratio_belongs_to_a_benchmark_and_could_fail():
    entries = kept.read()
    assert len({each.name for each in entries}) == len(entries)
    for each in entries:
        assert each.benchmark in {**check.BENCHMARKS, **check.WITH_DATA}, each.name
        assert all((each.measured_on, each.machine, each.commit)), each.name
        assert each.better in {"higher", "lower"}, each.name
        assert 0 <= each.worse_by < 1, each.name
        assert 0 <= each.value < math.inf, each.name


def test_an_unknown_benchmark_is_wrong_usage():
    command = [sys.executable, "-m", "tests.benchmarks.check", "sped"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 2
