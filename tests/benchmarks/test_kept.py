"""Ratios are held against the kept ones as a person would, and no benchmark is run."""

import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.benchmarks import check, kept, ratios
from tests.benchmarks.kept import Kept
from tests.benchmarks.machine import commit

SPEED = Kept("ingest.csv.of_copy", 0.5, "higher", 0.1, "2026-11-21", "here", "abc1234")
MEMORY = Kept(
    "ingest.csv.peak_mib", 200.0, "lower", 0.1, "2026-11-21", "here", "abc1234"
)
COMPILED = Kept(
    "speed.second_night", 0.0, "lower", 0.0, "2026-11-21", "here", "abc1234"
)


@pytest.mark.parametrize(
    ("entry", "measured", "state"),
    [
        pytest.param(SPEED, 0.50, "as kept", id="the same"),
        pytest.param(SPEED, 0.46, "as kept", id="a little slower is noise"),
        pytest.param(SPEED, 0.45, "as kept", id="at the limit"),
        pytest.param(SPEED, 0.44, "worse", id="clearly slower"),
        pytest.param(SPEED, 0.60, "better", id="clearly faster"),
        pytest.param(MEMORY, 219.0, "as kept", id="a little more memory"),
        pytest.param(MEMORY, 221.0, "worse", id="clearly more memory"),
        pytest.param(MEMORY, 100.0, "better", id="half the memory"),
        pytest.param(COMPILED, 0.0, "as kept", id="none is none"),
        pytest.param(COMPILED, 1.0, "worse", id="one is more than none"),
        pytest.param(SPEED, math.nan, "missing", id="not a number"),
    ],
)
def test_a_ratio_is_judged(entry, measured, state):
    (verdict,) = kept.judge([entry], {entry.name: measured})
    assert verdict.state == state


def test_a_ratio_that_a_benchmark_lost_is_missing():
    (verdict,) = kept.judge([SPEED], {"ingest.csv.of_kopy": 0.5})
    assert (verdict.state, verdict.measured) == ("missing", None)


def test_of_two_runs_each_ratio_has_its_better_one():
    first = {SPEED.name: 0.4, MEMORY.name: 190.0, "other": 1.0}
    second = {SPEED.name: 0.5, MEMORY.name: 260.0, "other": 2.0}
    best = kept.best_of([SPEED, MEMORY], first, second)
    assert best == {SPEED.name: 0.5, MEMORY.name: 190.0, "other": 2.0}


def runs_of(*runs):
    """A runner that gives one answer after the other, and counts."""
    waiting, asked = list(runs), []

    def run(command):
        asked.append(command)
        return waiting.pop(0)

    return run, asked


def test_a_noisy_run_is_repeated_and_forgiven():
    run, asked = runs_of({SPEED.name: 0.2}, {SPEED.name: 0.49})
    (verdict,) = check.check({"ingest": ["it"]}, [SPEED], run, tries=2)
    assert (verdict.state, len(asked)) == ("as kept", 2)


def test_what_is_worse_twice_is_worse():
    run, asked = runs_of({SPEED.name: 0.2}, {SPEED.name: 0.3})
    (verdict,) = check.check({"ingest": ["it"]}, [SPEED], run, tries=2)
    assert (verdict.state, verdict.measured, len(asked)) == ("worse", 0.3, 2)


def test_a_good_run_is_not_repeated_and_other_benchmarks_are_left_alone():
    run, asked = runs_of({SPEED.name: 0.5})
    verdicts = check.check({"ingest": ["it"]}, [SPEED, COMPILED], run, tries=2)
    assert [each.kept for each in verdicts] == [SPEED]
    assert asked == [["it"]]


def test_accuracy_is_a_part_for_each_folder_and_is_not_repeated():
    commands = check.commands_of(["accuracy"], [Path("DATA/here"), Path("DATA/there")])
    assert list(commands) == ["accuracy.here", "accuracy.there"]
    assert "DATA/there" in commands["accuracy.there"]
    scored = replace(MEMORY, name="accuracy.here.median4.mape_ratio", value=0.8)
    run, asked = runs_of({scored.name: 0.9})
    (verdict,) = check.check({"accuracy.here": ["it"]}, [scored], run, tries=2)
    assert (verdict.state, len(asked)) == ("worse", 1)


def test_a_benchmark_that_fails_stops_the_check(capfd):
    with pytest.raises(SystemExit, match="ended with 3"):
        check.run([sys.executable, "-c", "raise SystemExit(3)"])


def test_a_run_is_read_from_what_it_wrote(capfd):
    write = (
        "import json, sys; at = sys.argv[sys.argv.index('--json') + 1]; "
        "open(at, 'w').write(json.dumps({'ratios': {'x.y': 2.0}}))"
    )
    assert check.run([sys.executable, "-c", write]) == {"x.y": 2.0}


def test_the_table_shows_kept_now_and_the_limit():
    table = check.table_of(kept.judge([SPEED], {SPEED.name: 0.3}))
    assert "| ingest.csv.of_copy | 0.5 | 0.3 | 0.45 | worse |" in table


def test_ratios_are_written_under_their_benchmarks_name_and_read_back(tmp_path):
    ratios.write(tmp_path / "it.json", "ingest", {"csv.of_copy": 0.54321})
    assert ratios.read(tmp_path / "it.json") == {"ingest.csv.of_copy": 0.5432}
    ratios.write(None, "ingest", {})


def test_kept_ratios_survive_writing(tmp_path):
    kept.write([SPEED, COMPILED, MEMORY], tmp_path / "kept.json")
    assert kept.read(tmp_path / "kept.json") == [SPEED, MEMORY, COMPILED]


def test_a_name_kept_twice_is_refused(tmp_path):
    kept.write([SPEED, SPEED], tmp_path / "kept.json")
    with pytest.raises(ValueError, match=r"keeps ingest\.csv\.of_copy twice"):
        kept.read(tmp_path / "kept.json")


@pytest.mark.parametrize(
    "wrong",
    [
        {"better": "more"},
        {"worse_by": 1.0},
        {"worse_by": -0.1},
        {"value": math.nan},
        {"value": -1.0},
    ],
    ids=str,
)
def test_an_entry_that_would_let_everything_pass_is_refused(wrong):
    with pytest.raises(ValueError, match=r"ingest\.csv\.of_copy: "):
        replace(SPEED, **wrong)


def test_the_ratios_in_the_repository_belong_to_a_benchmark_and_say_where_they_are_from():
    known = {**check.BENCHMARKS, **check.WITH_DATA}
    for each in kept.read():
        assert each.benchmark in known, each.name
        assert all((each.measured_on, each.machine, each.commit)), each.name


@pytest.mark.parametrize("name", [*check.BENCHMARKS, *check.WITH_DATA])
def test_every_benchmark_can_give_its_ratios_as_json(name):
    text = (Path(check.__file__).parent / f"{name}.py").read_text()
    assert "ratios.add_option(parser)" in text
    assert f'ratios.write(asked.json, "{name}",' in " ".join(text.split())


def test_an_unknown_benchmark_and_missing_data_are_wrong_usage():
    for words in (["sped"], ["accuracy"], ["--tries", "0"]):
        done = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.check", *words],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 2, done.stderr


def test_keeping_what_was_measured_moves_its_value_and_its_commit_only(tmp_path):
    path = tmp_path / "kept.json"
    kept.write([SPEED, MEMORY], path)
    check.keep({SPEED.name: 0.7, "ingest.unknown": 1.0}, path)
    speed, memory = kept.read(path)
    assert (speed.value, speed.worse_by, memory) == (0.7, 0.1, MEMORY)
    assert speed.commit == commit() != SPEED.commit
