"""`harbor backfill`: what is printed, and what it ends with."""

import json
import os
import signal

import pytest

from pipelines import backfill as package
from pipelines.backfill import hindcast
from pipelines.schema import forecasts, scores
from tests.pipelines.backfill.conftest import days_before
from tests.pipelines.make import count


@pytest.fixture
def harbor(fleet, harbor):
    """Runs `harbor backfill` over some origins."""

    def run(first, last, *options):
        span = ["--from", str(days_before(first)), "--to", str(days_before(last))]
        return harbor("backfill", *span, *options)

    return run


def test_a_dry_run_shows_each_origin_and_changes_nothing(harbor, fleet, add_model):
    version = add_model(days_before(7))
    done = harbor(8, 6, "--dry-run")
    assert f"{days_before(7)}  forecast  {version}" in done.stdout
    assert "no usable model was trained only on days up to this origin" in done.stdout
    assert "2 of 3 origins are due. Nothing was changed;" in done.stderr
    answer = json.loads(harbor(8, 6, "--dry-run", "--json").stdout)
    assert (answer["n_waiting"], answer["rows"]) == (2, 0)
    assert [
        (each["origin_on"], each["is_due"], each["model_version"], each["rows"])
        for each in answer["origins"]
    ] == [
        (str(days_before(8)), False, None, 0),
        (str(days_before(7)), True, version, 21),
        (str(days_before(6)), True, version, 21),
    ]
    assert count(fleet, forecasts) == 0


def test_it_says_what_was_done_and_a_second_time_that_nothing_is_due(harbor, add_model):
    add_model(days_before(7))
    done = harbor(8, 6)
    assert done.returncode == 0
    assert "Origins forecast: 2 (42 rows); left as they are: 1." in done.stderr
    assert f"1 left: {package.decisions.NO_MODEL}. Train one with" in done.stderr
    second = harbor(8, 6)
    assert second.returncode == 3
    assert (
        "2 of 3: already there, with the same model and data. --again" in second.stderr
    )
    answer = json.loads(harbor(8, 6, "--again", "--json").stdout)
    assert (answer["n_forecast"], answer["rows"], answer["scored"]) == (2, 42, 0)
    assert [each["replaced_rows"] for each in answer["origins"]] == [0, 21, 21]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_a_signal_ends_it_after_the_group_and_it_says_how_to_go_on(
    harbor, fleet, add_model, monkeypatch, number, code
):
    add_model(days_before(20))
    monkeypatch.setattr(hindcast, "MAX_ORIGINS", 2)
    group = hindcast.hindcast

    def interrupted(*arguments):
        os.kill(os.getpid(), number)
        return group(*arguments)

    handler = signal.getsignal(number)
    with monkeypatch.context() as patched:
        patched.setattr("pipelines.backfill.run.hindcast", interrupted)
        stopped = harbor(9, 6)
    assert signal.getsignal(number) is handler
    assert stopped.returncode == code
    assert "stops after the current group of origins" in stopped.stderr
    assert "Stopped, with 2 origins left to do." in stopped.stderr
    assert "Run the same command again: it continues" in stopped.stderr
    assert count(fleet, forecasts) == 2 * 21
    assert count(fleet, scores) == 0
    assert "Origins forecast: 2 (42 rows)" in harbor(9, 6).stderr


def test_a_second_signal_ends_it_at_once(harbor, add_model, monkeypatch):
    add_model(days_before(20))

    def interrupted(*_):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr("pipelines.backfill.run.hindcast", interrupted)
        stopped = harbor(8, 6)
    assert stopped.returncode == 130
    assert "Stopped. Origins that were written are kept." in stopped.stderr
    assert harbor(8, 6).returncode == 0
