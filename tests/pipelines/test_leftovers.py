"""What killed trainings left is taken away, and nothing else."""

import os
import time

import pytest

from pipelines.leftovers import RESUMED_FOR, STAGED_FOR, sweep
from pipelines.settings import Settings


@pytest.fixture
def settings(tmp_path):
    settings = Settings(home=tmp_path)
    for folder in (settings.artefacts, settings.checkpoints / "cut-off" / "judged"):
        folder.mkdir(parents=True)
    for name in ("whole.npz", ".half.77.tmp"):
        (settings.artefacts / name).write_text("weights")
    return settings


def grow_old(path, age, seconds):
    then = time.time() - age.total_seconds() - seconds
    os.utime(path, (then, then))


@pytest.mark.parametrize(("seconds", "gone"), [(60, 2), (-60, 0)])
def test_only_what_is_old_is_swept(settings, seconds, gone):
    staged, cut_off = (
        settings.artefacts / ".half.77.tmp",
        settings.checkpoints / "cut-off",
    )
    grow_old(staged, STAGED_FOR, seconds)
    grow_old(cut_off, RESUMED_FOR, seconds)
    grow_old(settings.artefacts / "whole.npz", RESUMED_FOR, seconds)
    assert sweep(settings) == gone
    assert [staged.exists(), cut_off.exists()] == [not gone, not gone]
    assert (settings.artefacts / "whole.npz").exists()


def test_folders_that_are_not_there_yet_are_no_failure(tmp_path):
    assert sweep(Settings(home=tmp_path / "new")) == 0
