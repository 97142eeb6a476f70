"""Remains of killed trainings and restores are taken away, and nothing else."""

import os
import shutil
import time
from datetime import UTC, datetime, timedelta

import pytest

from pipelines.backup import postgres
from pipelines.pruning import (
    CHECKPOINT_AGE,
    LOG_LINE_AGE,
    RESTORE_PREFIX,
    STAGED_FILE_AGE,
    clean_up,
)
from pipelines.runs.ledger import recorded
from pipelines.settings import Settings
from pipelines.store import run_lines, runs


@pytest.fixture
def settings(tmp_path):
    settings = Settings(home=tmp_path)
    for folder in (settings.artefacts, settings.checkpoints / "cut-off" / "evaluation"):
        folder.mkdir(parents=True)
    for name in ("whole.npz", ".half.77.tmp"):
        (settings.artefacts / name).write_text("weights")
    return settings


def grow_old(path, age, seconds):
    then = time.time() - age.total_seconds() - seconds
    os.utime(path, (then, then))


@pytest.mark.parametrize(("seconds", "gone"), [(60, 2), (-60, 0)])
def test_only_what_is_old_is_swept(clean_engine, settings, seconds, gone):
    staged, cut_off = (
        settings.artefacts / ".half.77.tmp",
        settings.checkpoints / "cut-off",
    )
    grow_old(staged, STAGED_FILE_AGE, seconds)
    grow_old(cut_off, CHECKPOINT_AGE, seconds)
    grow_old(settings.artefacts / "whole.npz", CHECKPOINT_AGE, seconds)
    assert clean_up(clean_engine, settings) == gone
    assert [staged.exists(), cut_off.exists()] == [not gone, not gone]
    assert (settings.artefacts / "whole.npz").exists()


def test_the_dump_of_a_killed_restore_is_swept(clean_engine, settings, monkeypatch):
    def killed(*_):
        shutil.copytree(*settings.home.glob(".restore-*"), settings.home / "left")
        raise KeyboardInterrupt

    monkeypatch.setattr(postgres, "_run", killed)
    places = {"dump": settings.home / "none", "scratch": settings.home}
    with pytest.raises(KeyboardInterrupt):
        postgres.load(clean_engine.url, "public", before="", after="", **places)
    left = (settings.home / "left").rename(settings.home / f"{RESTORE_PREFIX}x")
    assert [path.name for path in left.iterdir()] == ["before"]
    grow_old(left, STAGED_FILE_AGE, -60)
    assert clean_up(clean_engine, settings) == 0
    grow_old(left, STAGED_FILE_AGE, 60)
    assert clean_up(clean_engine, settings) == 1
    assert not left.exists()


def test_folders_that_are_not_there_yet_are_no_failure(clean_engine, tmp_path):
    assert clean_up(clean_engine, Settings(home=tmp_path / "new")) == 0


def test_old_log_lines_are_forgotten_and_their_runs_kept(clean_engine, settings):
    with recorded(clean_engine, "nightly") as run:
        pass
    now = datetime.now(UTC)
    ages = {
        "old": LOG_LINE_AGE + timedelta(hours=1),
        "new": LOG_LINE_AGE - timedelta(hours=1),
    }
    with clean_engine.begin() as connection:
        for name, age in ages.items():
            run_lines.write_line(
                connection, run_id=run.run_id, written_at=now - age, level="info",
                event=name, fields={},
            )  # fmt: skip
    clean_up(clean_engine, settings)
    with clean_engine.connect() as connection:
        left = run_lines.lines_of(connection, run.run_id)
        # Where logs are configured, the run has lines of its own besides.
        assert {line["event"] for line in left} & ages.keys() == {"new"}
        assert runs.run_with_steps(connection, run.run_id)
