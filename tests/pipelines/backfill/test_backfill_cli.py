"""`harbor backfill`: what is printed, and what commands end with."""

import json
from dataclasses import replace

import pytest
from structlog.testing import capture_logs
from typer.testing import CliRunner

from forecaster.errors import HarborError
from pipelines.backfill import apply_plan
from pipelines.cli import app
from tests.pipelines.backfill.conftest import days_before

pytestmark = pytest.mark.db


@pytest.fixture
def harbor(fleet, database_url, settings, monkeypatch):
    """Runs a command, and gives what it printed and what it ended with."""
    monkeypatch.setenv("HARBOR_DATABASE_URL", database_url)
    monkeypatch.setenv("HARBOR_HOME", str(settings.home))

    def run(*arguments):
        request = ["backfill", *(str(argument) for argument in arguments)]
        with capture_logs():
            done = CliRunner().invoke(app, request)
        foreseen = (SystemExit, HarborError, KeyboardInterrupt)
        if done.exception is not None and not isinstance(done.exception, foreseen):
            raise done.exception
        return done

    return run


def planned(harbor, first, last, *options):
    span = ("--from", days_before(first), "--to", days_before(last))
    done = harbor("plan", *span, *options, "--json")
    assert done.exit_code == 0
    return json.loads(done.stdout)


def test_a_plan_is_read_applied_and_followed(harbor, add_model):
    version = add_model(days_before(7))
    plan = planned(harbor, 8, 6)
    assert plan["state"] == "planned"
    assert plan["without_model"] == [str(days_before(8))]
    told = [
        (slot["origin_on"], slot["action"], slot["model_version"], slot["rows"])
        for slot in plan["slots"]
    ]
    assert told == [
        (str(days_before(8)), "leave", None, 0),
        (str(days_before(7)), "forecast", version, 21),
        (str(days_before(6)), "forecast", version, 21),
        (None, "score", None, 0),
    ]
    shown = harbor("status", plan["plan"], "--watch")
    assert "Plan 1 is planned: 0 done, 3 waiting, 0 failed, 1 skipped." in shown.stderr
    done = json.loads(harbor("apply", plan["plan"], "--json").stdout)
    assert done["state"] == "done"
    (row,) = json.loads(harbor("status", "--json").stdout)
    assert (row["backfill_id"], row["state"], row["done"]) == (1, "done", 3)
    assert "done" in harbor("status").stdout


def test_a_plan_for_people_says_why_a_slot_is_left_out_and_offers_to_train(
    harbor, add_model
):
    add_model(days_before(7))
    span = ("--from", days_before(9), "--to", days_before(6))
    said = harbor("plan", *span).stderr
    assert "Origins with no model trained on or before them: 2." in said
    assert f"--what train,forecast,score to train one through {days_before(9)}" in said
    assert "3 of 5 tasks to do, with no past run to tell how long they take." in said
    assert "Apply the plan with 'harbor backfill apply 1'." in said


def test_an_interrupt_pauses_and_says_how_to_go_on(harbor, add_model, monkeypatch):
    add_model(days_before(20))
    planned(harbor, 8, 6)

    def interrupt(_):
        raise KeyboardInterrupt

    def interrupted(*arguments):
        *rest, callbacks = arguments
        return apply_plan(*rest, replace(callbacks, on_slot=interrupt))

    with monkeypatch.context() as patched:
        patched.setattr("pipelines.backfill.apply_plan", interrupted)
        stopped = harbor("apply", 1)
    assert stopped.exception.exit_code == 130
    assert "Plan 1 is paused. 'harbor backfill resume 1' continues it." in str(
        stopped.exception
    )
    shown = json.loads(harbor("status", 1, "--json").stdout)
    assert shown["state"] == "paused"
    assert [slot["state"] for slot in shown["slots"]] == ["done"] + ["waiting"] * 3
    assert harbor("resume", 1).exit_code == 0


def test_a_slot_that_fails_is_told_once_and_how_to_try_again(
    harbor, add_model, settings
):
    version = add_model(days_before(7))
    planned(harbor, 6, 6)
    (artefact,) = settings.artefacts.glob(f"*{version}*")
    artefact.write_bytes(b"broken")
    done = harbor("apply", 1)
    told = done.stderr + str(done.exception)
    assert told.count(artefact.name) == 1
    assert "1 of 2 tasks failed. 'harbor backfill retry 1 --failed' tries" in told


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("pause", 1), 3, "not being applied"),
        (("retry", 1, "--failed"), 3, "Plan 1 has no failed tasks"),
        (("apply", 9), 1, "There is no backfill plan 9"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    harbor, add_model, arguments, code, says
):
    add_model(days_before(20))
    planned(harbor, 6, 6)
    done = harbor(*arguments)
    assert done.exception.exit_code == code
    assert says in str(done.exception)


def test_retry_wants_to_hear_what_is_tried_again(harbor):
    assert harbor("retry", 1).exit_code == 2


def test_a_cancelled_plan_tells_machines_too(harbor, add_model):
    add_model(days_before(20))
    planned(harbor, 6, 6)
    message = json.loads(harbor("cancel", 1, "--json").stdout)["message"]
    assert message == "Plan 1 is cancelled: 0 tasks stay done, 2 are dropped."
    assert harbor("apply", 1).exception.exit_code == 1


def test_a_backfill_in_one_go_tells_of_every_origin_and_may_be_interrupted_too(
    harbor, add_model, monkeypatch
):
    version = add_model(days_before(7))
    span = ("run", "--from", days_before(8), "--to", days_before(7))

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("pipelines.backfill.apply.apply_plan", interrupt)
        stopped = harbor(*span).exception
    assert stopped.exit_code == 130
    assert "Its plan is paused. 'harbor backfill status' lists it" in str(stopped)
    left_out, made = json.loads(harbor(*span, "--json").stdout)
    assert (left_out["model"], made["model"]) == (None, version)
    assert f"harbor train --through {days_before(8)}" in left_out["reason"]
    assert "Days forecast from: 1; skipped: 1." in harbor(*span).stderr


def test_a_backfill_in_one_go_without_a_model_fails_with_the_reason(harbor, fleet):
    span = ("run", "--from", days_before(8), "--to", days_before(7))
    assert "No origin was forecast. no usable model was trained" in str(
        harbor(*span).exception
    )
