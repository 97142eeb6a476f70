"""After a warm-up a training compiles nothing, in a process of its own as at night."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from forecaster.errors import ConfigError
from pipelines.schema import models
from pipelines.settings import Settings
from pipelines.training import train as training
from tests.pipelines.make import count, count_fleet, scalar
from tests.pipelines.nightly.test_steps import DAYS, LAST

ROOT = Path(__file__).parents[3]


@pytest.fixture
def fleet(clean_engine):
    count_fleet(clean_engine, n_depots=3, n_days=DAYS)
    return clean_engine


def train(home, url, *options):
    """`harbor train` with a small network."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.pipelines.faults.victim", "nowhere!", "train", *options],
        env={**os.environ, "HARBOR_HOME": str(home), "HARBOR_DATABASE_URL": url},
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def test_a_training_after_a_warm_up_compiles_nothing(fleet, database_url, tmp_path):
    warmed = json.loads(train(tmp_path, database_url, "--warm-up", "--json").stdout)
    assert warmed["compilations"] == warmed["cache_misses"] > 0
    assert count(fleet, models) == 0
    train(tmp_path, database_url)
    done = "select metrics from runs where step = 'train' and state = 'done'"
    cost = scalar(fleet, done)
    assert (cost["compilations"], cost["cache_misses"]) == (0, 0)
    assert cost["cache_hits"] == warmed["compilations"]


def test_a_warm_up_without_a_cache_is_refused(clean_engine, tmp_path):
    settings = Settings(home=tmp_path, compile_cache_mib=0)
    with pytest.raises(ConfigError, match="HARBOR_COMPILE_CACHE_MIB is 0"):
        training.precompile(clean_engine, settings, LAST, None, None)
