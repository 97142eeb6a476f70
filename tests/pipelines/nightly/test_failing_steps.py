"""With a champion and complete data, the night makes a forecast whichever step fails."""

from dataclasses import replace
from unittest.mock import Mock

import pytest
import sqlalchemy as sa

from pipelines.demand import public_holidays
from pipelines.demand.panels import read_panel
from pipelines.monitoring.notifications import due_notification
from pipelines.nightly import steps
from pipelines.nightly.run import NightlyError, run_nightly
from pipelines.nightly.steps import STEPS, NightlyContext
from pipelines.runs import ledger
from pipelines.schema import forecasts, runs
from pipelines.settings import Settings
from pipelines.store.monitoring import newest_night
from pipelines.training import train as train_module
from tests.pipelines.faults.victim import invent_training
from tests.pipelines.make import LAST, NOW, correct_count, count, night_finding

NEEDED = {"forecast"}
OTHERS = [name for name in STEPS if name not in NEEDED]


@pytest.fixture
def night(fleet, tmp_path, monkeypatch):
    invent_training(monkeypatch.setattr)
    published = str(tmp_path / "published")
    settings = Settings(home=tmp_path, settle_seconds=0, publish_url=published)
    return lambda: NightlyContext(fleet, settings, NOW, None)


@pytest.fixture
def fail(monkeypatch):
    """Makes steps fail after their work, with an SQL statement that raises an error."""

    def work_then_fail(step):
        def work(context, run):
            step.work(context, run)
            with run.engine.begin() as connection:
                connection.execute(sa.text("select 1 / 0"))

        return work

    def broken(*names):
        for name in names:
            step = replace(STEPS[name], work=work_then_fail(STEPS[name]))
            monkeypatch.setitem(steps.STEPS, name, step)

    return broken


def states(engine):
    with engine.connect() as connection:
        rows = connection.execute(sa.select(runs.c.step, runs.c.state))
        return {row.step: row.state for row in rows}


def live_rows(engine):
    return count(engine, forecasts, forecasts.c.origin_on == LAST, forecasts.c.is_live)


def test_the_forecast_needs_no_step_but_itself():
    assert {name for name in STEPS if STEPS[name].forecast_without is None} == NEEDED


@pytest.mark.parametrize("name", ["demand", "train", "forecast"])
def test_the_night_goes_on_without_a_step_and_says_so(fleet, night, fail, name):
    fail(name)
    with pytest.raises(NightlyError, match=rf"That was the step '{name}'") as told:
        run_nightly(night())
    assert told.value.exit_code == 1
    others = dict.fromkeys(STEPS, "done")
    assert states(fleet) == others | {"nightly": "failed", name: "failed"}
    assert live_rows(fleet) == 2 * 7
    way = STEPS[name].forecast_without
    if name in NEEDED:
        assert str(told.value).startswith("There is no new forecast. ")
    else:
        assert f"The forecast was made all the same, {way}." in str(told.value)
    assert "failed, too" not in str(told.value)


def test_a_night_that_only_fails_to_publish_is_done_and_says_so(fleet, night, fail):
    fail(steps.PUBLISH)
    done = run_nightly(night())
    assert "division by zero" in done["unpublished"]
    assert states(fleet) == dict.fromkeys(STEPS, "done") | {
        "nightly": "done", steps.PUBLISH: "failed",
    }  # fmt: skip
    assert live_rows(fleet) == 2 * 7
    finding = night_finding(fleet, "last night", night().settings)
    assert not finding.ok
    assert "done, but: " in finding.message
    with fleet.connect() as connection:
        ended = newest_night(connection, "done")
    told = due_notification(ended, None, last_was_failure=False)
    assert told.is_failure
    assert "division by zero" in told.message


def test_the_forecast_is_made_without_any_other_step(fleet, night, monkeypatch):
    broken = Mock(side_effect=OSError("broken"))
    for name in OTHERS:
        monkeypatch.setitem(steps.STEPS, name, replace(STEPS[name], work=broken))
    with pytest.raises(NightlyError) as told:
        run_nightly(night())
    assert live_rows(fleet) == 2 * 7
    assert str(told.value).count("failed, too") == len(OTHERS) - 1
    assert str(told.value).count("with an earlier model") == 1


def test_a_failure_is_told_also_where_there_is_nothing_to_do(fleet, night, fail):
    done = run_nightly(night())
    fail("ingest")
    with pytest.raises(
        NightlyError, match=r"step 'ingest'.*night of .* is done"
    ) as told:
        run_nightly(night())
    assert f"(run {done['run_id']})" in str(told.value)
    assert "There is no new forecast" not in str(told.value)


@pytest.mark.parametrize(
    ("says_so", "point", "tries"),
    [
        pytest.param(True, "mape", True, id="stopped, then other settings"),
        pytest.param(False, "balanced", False, id="by the kernel, the same settings"),
    ],
)
def test_a_night_killed_twice_while_it_trained_forecasts_without_a_training(
    fleet, night, monkeypatch, says_so, point, tries
):
    """For instance for lack of memory; the third attempt of the scheduler is its last.

    Changed settings allow another training, which may need less memory. A run that the
    kernel kills records no end.
    """
    whole = train_module.train

    monkeypatch.setattr(train_module, "train", Mock(side_effect=KeyboardInterrupt))
    with monkeypatch.context() as dying:
        if not says_so:
            dying.setattr(ledger.runs, "end_run", lambda *_: None)
        for _ in range(steps.MAX_NIGHTS_ENDED_IN_TRAINING):
            with pytest.raises(KeyboardInterrupt):
                run_nightly(night())
    assert live_rows(fleet) == 0
    monkeypatch.setattr(train_module, "train", whole)
    settings = night().settings.model_copy(update={"point": point})
    third = replace(night(), settings=settings)
    if tries:
        assert "model" in run_nightly(third)["steps"]["train"]
    else:
        with pytest.raises(
            NightlyError, match=r"ended 2 times while it trained \(runs"
        ):
            run_nightly(third)
        assert live_rows(fleet) == 2 * 7
        # There is a forecast now, so the next night may try again.
        assert "model" in run_nightly(night())["steps"]["train"]


def test_holidays_that_cannot_be_looked_up_do_not_cost_the_counts(
    fleet, night, monkeypatch
):
    broken = Mock(side_effect=KeyError("a calendar"))
    monkeypatch.setattr(public_holidays, "holidays_of", broken)
    with fleet.begin() as connection:
        correct_count(connection, "A0", LAST, 9_999)
    with pytest.raises(NightlyError, match="a calendar"):
        run_nightly(night())
    assert read_panel(fleet, LAST).demand_dt[0, -1] == 9_999
    assert live_rows(fleet) == 2 * 7
