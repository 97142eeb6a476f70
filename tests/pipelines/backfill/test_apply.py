"""A plan is applied slot by slot: refused, paused, resumed, cancelled, tried again."""

from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from forecaster.errors import BadInputError, NoDataError, NothingToDoError
from pipelines.backfill import (
    BackfillRequest,
    ProgressCallbacks,
    apply,
    apply_plan,
    control,
    make_plan,
    read_plan,
)
from pipelines.demand import counting
from pipelines.nightly.run import NIGHTLY_LOCK
from pipelines.runs.locks import LostRunError, is_held
from pipelines.schema import (
    daily_counts,
    events,
    forecast_totals,
    forecasts,
    runs,
    scores,
    signal_versions,
)
from pipelines.store import backfill as backfill_store
from pipelines.store.backfill import APPLY_LOCK
from tests.pipelines.backfill.conftest import LAST, NOW, days_before

pytestmark = pytest.mark.db


@pytest.fixture
def plan(fleet, settings, add_model):
    """Eight origins, every one with a model."""
    add_model(days_before(30))
    return make_plan(fleet, settings, BackfillRequest(days_before(12), days_before(5)))


def stored(engine):
    """Forecasts as they are, when and by which run they were made apart."""
    with engine.connect() as connection:
        return connection.execute(
            sa.text(
                "select depot_id, origin_on, target_on, model_version, p10, p50, p90, point, "
                "basis, is_live from forecasts order by 1, 2, 3, 4"
            )
        ).all()


def count(engine, table, *conditions):
    with engine.connect() as connection:
        statement = sa.select(sa.func.count()).select_from(table).where(*conditions)
        return connection.scalar(statement)


def reload(engine, plan):
    return read_plan(engine, plan.backfill_id)


def change_a_count(engine, day, now=NOW):
    with engine.begin() as connection:
        connection.execute(
            sa.update(daily_counts)
            .where(daily_counts.c.depot_id == "A0", daily_counts.c.service_on == day)
            .values(orders=9_999)
        )
    counting.rebuild(engine, now)


def add_event(engine):
    with engine.begin() as connection:
        connection.execute(
            sa.insert(events).values(
                kind="game", starts_on=LAST, ends_on=LAST, file_id=1
            )
        )


def add_signal(engine):
    with engine.begin() as connection:
        connection.execute(
            sa.insert(signal_versions).values(
                signal="rain", city="Delft", day_on=LAST, known_from=LAST, version=1,
                value=1, known_at=NOW, file_id=1,
            )
        )  # fmt: skip


def rename_a_depot(engine):
    with engine.begin() as connection:
        connection.execute(
            sa.text("update depots set name = 'X' where depot_id = 'A0'")
        )


def stop_after(slots, stop):
    """Stops at the end of a slot."""
    seen = []

    def told(slot):
        seen.append(slot)
        if len(seen) == slots:
            stop()

    return ProgressCallbacks(on_slot=told)


def interrupt():
    raise KeyboardInterrupt


def test_a_plan_writes_forecasts_and_scores_them(fleet, settings, plan):
    done = apply_plan(fleet, settings, plan.backfill_id, NOW)
    assert done.state == "done"
    assert {slot.state for slot in done.slots} == {"done"}
    assert count(fleet, forecasts, sa.not_(forecasts.c.is_live)) == 8 * 21
    assert count(fleet, forecast_totals, forecast_totals.c.city == "") == 8 * 7
    # Forecasts from five days before the end: five of their seven days are known.
    assert count(fleet, scores, scores.c.origin_on == days_before(5)) == 5 * 3
    with pytest.raises(NothingToDoError, match="Plan 1 has no tasks left to do"):
        apply_plan(fleet, settings, plan.backfill_id, NOW)


def test_the_ledger_has_the_backfill_and_its_steps(fleet, settings, plan):
    apply_plan(fleet, settings, plan.backfill_id, NOW)
    with fleet.connect() as connection:
        found = connection.execute(
            sa.select(runs.c.step, runs.c.state, runs.c.metrics).order_by(runs.c.run_id)
        ).all()
    assert [(row.step, row.state) for row in found] == [
        ("backfill", "done"),
        ("hindcast", "done"),
        ("score", "done"),
    ]
    assert found[0].metrics["done"] == 9
    assert found[1].metrics["rows"] == 8 * 21


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(
            lambda engine: change_a_count(engine, days_before(20)),
            "counts changed",
            id="a count",
        ),
        pytest.param(
            add_event,
            "events changed",
            id="an event",
        ),
        pytest.param(add_signal, "signals changed", id="a signal"),
        pytest.param(rename_a_depot, "depots changed", id="a depot"),
    ],
)
def test_a_plan_whose_inputs_changed_is_refused_with_the_changes(
    fleet, settings, plan, change, message
):
    change(fleet)
    with pytest.raises(
        BadInputError, match=rf"have changed since plan 1 was made: {message}"
    ):
        apply_plan(fleet, settings, plan.backfill_id, NOW)
    assert count(fleet, forecasts) == 0
    assert reload(fleet, plan).state == "planned"


def test_a_model_added_since_makes_a_plan_stale(fleet, settings, plan, add_model):
    version = add_model(days_before(8))
    with pytest.raises(BadInputError, match=f"model {version} was added"):
        apply_plan(fleet, settings, plan.backfill_id, NOW)


def test_forecasts_made_since_make_a_plan_stale(fleet, settings, plan):
    other = make_plan(fleet, settings, BackfillRequest(days_before(6), days_before(6)))
    apply_plan(fleet, settings, other.backfill_id, NOW)
    with pytest.raises(
        BadInputError, match=f"forecasts from {days_before(6)} were made again"
    ):
        apply_plan(fleet, settings, plan.backfill_id, NOW)


def test_data_of_later_days_leave_a_plan_valid(fleet, settings, add_model):
    add_model(days_before(60))
    plan = make_plan(fleet, settings, BackfillRequest(days_before(40), days_before(38)))
    change_a_count(fleet, days_before(30))
    add_model(days_before(10))
    assert apply_plan(fleet, settings, plan.backfill_id, NOW).state == "done"


def test_an_interrupt_is_a_pause_and_resuming_ends_where_an_unbroken_run_does(
    fleet, settings, plan
):
    with pytest.raises(KeyboardInterrupt):
        apply_plan(fleet, settings, plan.backfill_id, NOW, stop_after(3, interrupt))
    paused = reload(fleet, plan)
    assert (paused.state, paused.count("done"), len(paused.waiting)) == ("paused", 3, 6)
    assert count(fleet, forecasts) == 3 * 21
    with fleet.connect() as connection:
        whole = sa.select(runs.c.state, runs.c.metrics).where(runs.c.step == "backfill")
        [(state, counts)] = connection.execute(whole).all()
    assert (state, counts["state"]) == ("done", "paused")

    assert apply_plan(fleet, settings, plan.backfill_id, NOW).state == "done"
    resumed = stored(fleet)
    whole = make_plan(fleet, settings, replace(plan.request, only="all"))
    assert sum(slot.replaced_rows for slot in whole.slots) == 8 * 21
    apply_plan(fleet, settings, whole.backfill_id, NOW)
    again = stored(fleet)
    assert [row[:4] for row in again] == [row[:4] for row in resumed]
    for before, after in zip(resumed, again, strict=True):
        assert after[4:7] == pytest.approx(before[4:7], rel=2e-3)


def test_a_pause_from_elsewhere_stops_after_the_slot_at_hand(fleet, settings, plan):
    def pause():
        assert "resume 1" in control.pause(fleet, plan.backfill_id)

    stopped = apply_plan(fleet, settings, plan.backfill_id, NOW, stop_after(2, pause))
    assert (stopped.state, stopped.count("done")) == ("paused", 2)
    with fleet.connect() as connection:
        states = connection.execute(sa.select(runs.c.step, runs.c.state)).all()
    assert set(states) == {("backfill", "done"), ("hindcast", "skipped")}
    assert apply_plan(fleet, settings, plan.backfill_id, NOW).state == "done"


def test_a_cancelled_plan_keeps_what_it_wrote_and_never_goes_on(fleet, settings, plan):
    def cancel():
        control.cancel(fleet, plan.backfill_id)

    stopped = apply_plan(fleet, settings, plan.backfill_id, NOW, stop_after(2, cancel))
    assert (stopped.state, stopped.count("done")) == ("cancelled", 2)
    assert count(fleet, forecasts) == 2 * 21
    with pytest.raises(BadInputError, match="was cancelled"):
        apply_plan(fleet, settings, plan.backfill_id, NOW)
    with pytest.raises(NothingToDoError, match="cancelled already"):
        control.cancel(fleet, plan.backfill_id)


def test_a_plan_that_does_not_run_is_cancelled_at_once_and_cannot_be_paused(
    fleet, plan
):
    with pytest.raises(NothingToDoError, match="not being applied"):
        control.pause(fleet, plan.backfill_id)
    with fleet.begin() as connection:
        backfill_store.set_state(connection, plan.backfill_id, "running")
    with pytest.raises(NothingToDoError, match="interrupted and not being applied"):
        control.pause(fleet, plan.backfill_id)
    assert "9 are dropped" in control.cancel(fleet, plan.backfill_id)
    assert reload(fleet, plan).state == "cancelled"


def test_a_plan_whose_process_died_can_be_resumed(fleet, settings, plan):
    with fleet.begin() as connection:
        connection.execute(sa.text("update backfills set state = 'running'"))
    assert not control.is_running(fleet, reload(fleet, plan))
    assert apply_plan(fleet, settings, plan.backfill_id, NOW).state == "done"


def test_another_plan_ends_those_whose_process_died_as_they_were_asked(
    fleet, settings, plan
):
    """While it runs, they would otherwise be taken for what is being applied."""
    died = [
        make_plan(fleet, settings, plan.request).backfill_id for _ in ("left", "cancel")
    ]
    with fleet.begin() as connection:
        for backfill_id in died:
            backfill_store.set_state(connection, backfill_id, "running")
        backfill_store.update_plan(connection, died[1], requested_action="cancel")
    seen = []

    def look():
        seen.append([read_plan(fleet, backfill_id).state for backfill_id in died])

    apply_plan(fleet, settings, plan.backfill_id, NOW, stop_after(1, look))
    assert seen[0] == ["paused", "cancelled"]
    with pytest.raises(BadInputError, match="was cancelled"):
        apply_plan(fleet, settings, died[1], NOW)


def test_a_slot_that_fails_as_nobody_foresaw_says_so_in_a_sentence(
    fleet, settings, plan, monkeypatch
):
    def broken(*_):
        raise RuntimeError("nothing gives way")

    monkeypatch.setitem(apply.SHARED_STEPS, "score", broken)
    (failed,) = apply_plan(fleet, settings, plan.backfill_id, NOW).failed
    assert failed.error.startswith(
        "RuntimeError: nothing gives way. This is unexpected"
    )


def test_a_failed_slot_does_not_stop_the_others_and_is_tried_again(
    fleet, settings, add_model
):
    early, late = add_model(days_before(30)), add_model(days_before(8))
    path = settings.artefacts / f"{late}.npz"
    whole = path.read_bytes()
    path.unlink()
    plan = make_plan(fleet, settings, BackfillRequest(days_before(10), days_before(7)))
    done = apply_plan(fleet, settings, plan.backfill_id, NOW)
    assert done.state == "failed"
    assert [slot.state for slot in done.slots] == ["done"] * 2 + ["failed"] * 2 + [
        "done"
    ]
    assert [slot.model for slot in done.slots[:3]] == [early, early, None]
    assert f"{late}.npz is not there" in done.slots[2].error

    with pytest.raises(NothingToDoError, match=r"2 failed; 'harbor backfill retry 1"):
        apply_plan(fleet, settings, plan.backfill_id, NOW)

    path.write_bytes(whole)
    assert control.queue_failed(fleet, plan.backfill_id) == 2
    assert apply_plan(fleet, settings, plan.backfill_id, NOW).state == "done"
    with pytest.raises(NothingToDoError, match="Plan 1 has no failed tasks"):
        control.queue_failed(fleet, plan.backfill_id)


def test_some_depots_are_written_and_the_others_left_as_they_were(
    fleet, settings, add_model
):
    add_model(days_before(30))
    everyone = make_plan(
        fleet, settings, BackfillRequest(days_before(6), days_before(5))
    )
    apply_plan(fleet, settings, everyone.backfill_id, NOW)
    request = BackfillRequest(
        days_before(6), days_before(6), depots=("A1",), only="all"
    )
    one = make_plan(fleet, settings, request)
    assert one.slots[0].replaced_rows == 7
    later = NOW + timedelta(hours=1)
    apply_plan(fleet, settings, one.backfill_id, later)
    assert count(fleet, forecasts) == 2 * 21
    assert count(fleet, forecasts, forecasts.c.made_at == later) == 7
    assert (
        count(
            fleet, forecasts, forecasts.c.depot_id == "A1", forecasts.c.made_at == later
        )
        == 7
    )


def test_the_night_goes_first(fleet, settings, plan, monkeypatch):
    """The night ends while the backfill looks for the second time."""
    said, looks = [], []
    monkeypatch.setattr(control.time, "sleep", lambda _: _second_look())
    night = fleet.connect()
    night.execute(sa.select(sa.func.pg_advisory_lock(NIGHTLY_LOCK)))

    def _second_look():
        looks.append(count(fleet, forecasts))
        if len(looks) == 2:
            night.execute(sa.select(sa.func.pg_advisory_unlock_all()))

    done = apply_plan(
        fleet,
        settings,
        plan.backfill_id,
        NOW,
        ProgressCallbacks(on_message=said.append),
    )
    night.close()
    assert looks == [0, 0]
    assert "goes first" in said[0]
    assert done.state == "done"


def test_a_backfill_that_waits_for_the_night_can_be_paused(
    fleet, settings, plan, monkeypatch
):
    monkeypatch.setattr(
        control.time, "sleep", lambda _: control.pause(fleet, plan.backfill_id)
    )
    with fleet.connect() as night:
        night.execute(sa.select(sa.func.pg_advisory_lock(NIGHTLY_LOCK)))
        assert apply_plan(fleet, settings, plan.backfill_id, NOW).state == "paused"
        night.execute(sa.select(sa.func.pg_advisory_unlock_all()))


def test_a_night_may_start_while_a_backfill_looks_whether_one_does(fleet):
    """Looking takes no lock: a night that finds its own taken would leave."""
    with fleet.connect() as night:
        assert not is_held(fleet, NIGHTLY_LOCK)
        assert night.scalar(sa.select(sa.func.pg_try_advisory_lock(NIGHTLY_LOCK)))
        assert is_held(fleet, NIGHTLY_LOCK)
        night.execute(sa.select(sa.func.pg_advisory_unlock_all()))


def test_a_backfill_that_lost_its_lock_writes_nothing_more(fleet, settings, plan):
    def cut():
        with fleet.connect() as connection:
            connection.execute(
                sa.text(
                    "select pg_terminate_backend(pid) from pg_locks "
                    "where locktype = 'advisory' and classid = 0 and objid = :key"
                ),
                {"key": APPLY_LOCK},
            )

    with pytest.raises(LostRunError, match="lost the database session"):
        apply_plan(fleet, settings, plan.backfill_id, NOW, stop_after(2, cut))
    assert count(fleet, forecasts) == 2 * 21
    broken_off = reload(fleet, plan)
    assert not control.is_running(fleet, broken_off)
    assert (broken_off.count("done"), broken_off.count("failed")) == (2, 0)
    assert apply_plan(fleet, settings, plan.backfill_id, NOW).state == "done"
    assert count(fleet, forecasts) == 8 * 21


def test_two_backfills_at_once_are_one(fleet, settings, plan):
    with fleet.connect() as other:
        other.execute(sa.select(sa.func.pg_advisory_lock(APPLY_LOCK)))
        with pytest.raises(NothingToDoError, match="Another backfill"):
            apply_plan(fleet, settings, plan.backfill_id, NOW)
        other.execute(sa.select(sa.func.pg_advisory_unlock_all()))


def test_a_plan_that_is_not_there_says_so(fleet, settings):
    with pytest.raises(NoDataError, match="no backfill plan 7"):
        apply_plan(fleet, settings, 7, NOW)
