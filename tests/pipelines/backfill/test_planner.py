"""A plan says of every slot what is done and why, and changes nothing."""

from datetime import date, timedelta

import pytest
import sqlalchemy as sa

from forecaster.config import TaskConfig, min_training_days
from forecaster.errors import BadInputError, NoDataError
from forecaster.model.two_stage_fit import Recipe, fit_to_history
from pipelines.backfill import BackfillRequest, apply_plan, make_plan
from pipelines.runs.ledger import recorded
from pipelines.schema import depots, forecasts
from tests.make import make_panel
from tests.pipelines.backfill.conftest import LAST, NOW, days_before
from tests.pipelines.make import START

pytestmark = pytest.mark.db


def planned(engine, settings, **options):
    options = {"first": days_before(6), "last": days_before(4)} | options
    return make_plan(engine, settings, BackfillRequest(**options))


def told(plan, step="forecast"):
    return [
        (slot.origin_on, slot.action, slot.model_version)
        for slot in plan.slots
        if slot.step == step
    ]


def count(engine):
    with engine.connect() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(forecasts))


def test_each_origin_gets_the_newest_model_trained_through_no_later(
    fleet, settings, add_model
):
    old, new = add_model(days_before(30)), add_model(days_before(5))
    later = add_model(days_before(3))
    plan = planned(fleet, settings)
    assert told(plan) == [
        (days_before(6), "forecast", old),
        (days_before(5), "forecast", new),
        (days_before(4), "forecast", new),
    ]
    assert later not in {slot.model_version for slot in plan.slots}
    assert [slot.rows for slot in plan.slots] == [21, 21, 21, 0]
    assert [slot.step for slot in plan.slots][-1] == "score"
    assert count(fleet) == 0


def test_an_origin_whose_model_was_pruned_falls_back_and_says_so(
    fleet, settings, add_model, prune
):
    old, new = add_model(days_before(30)), add_model(days_before(5))
    prune(new)
    plan = planned(fleet, settings)
    assert told(plan) == [(days_before(n), "forecast", old) for n in (6, 5, 4)]
    why = [slot.reason for slot in plan.of("forecast")]
    assert why[0] == f"the newest model trained through {days_before(30)}"
    assert why[1] == why[2]
    assert f"whose artefact is kept, trained through {days_before(30)}" in why[1]
    assert f"the artefact of {new} was pruned on {NOW:%Y-%m-%d}" in why[1]
    prune(old)
    plan = planned(fleet, settings)
    assert told(plan) == [(days_before(n), "leave", None) for n in (6, 5, 4)]
    assert f"{new} was pruned on" in plan.of("forecast")[1].reason
    assert plan.without_model == [days_before(n) for n in (6, 5, 4)]


@pytest.mark.parametrize(
    ("options", "live", "why"),
    [
        ({"only": "missing"}, False, "already there (--only missing)"),
        ({}, True, "already has that model's live forecast, which is never replaced"),
    ],
)
def test_what_a_pruned_model_has_forecast_is_there_all_the_same(
    fleet, settings, add_model, prune, options, live, why
):
    add_model(days_before(30))
    new = add_model(days_before(7))
    apply_plan(fleet, settings, planned(fleet, settings).backfill_id, NOW)
    with fleet.begin() as connection:
        connection.execute(sa.update(forecasts).values(is_live=live))
    prune(new)
    slots = planned(fleet, settings, what=("train", "forecast"), **options).slots
    assert {slot.reason for slot in slots if slot.step == "forecast"} == {why}
    code = "live_forecast" if live else "forecast_stored"
    assert {slot.reason_code for slot in slots if slot.step == "forecast"} == {code}
    assert not any(slot.is_included for slot in slots)


def test_a_plan_whose_model_is_pruned_before_it_is_applied_is_refused(
    fleet, settings, add_model, prune
):
    version = add_model(days_before(7))
    plan = planned(fleet, settings)
    prune(version)
    with pytest.raises(
        BadInputError, match=f"model {version} is gone, or its artefact"
    ):
        apply_plan(fleet, settings, plan.backfill_id, NOW)


def test_a_model_that_a_plan_does_not_name_may_be_pruned_before_it_is_applied(
    fleet, settings, add_model, prune
):
    older = add_model(days_before(30))
    version = add_model(days_before(7))
    plan = planned(fleet, settings)
    prune(older)
    apply_plan(fleet, settings, plan.backfill_id, NOW)
    with fleet.connect() as connection:
        made_by = connection.scalars(sa.select(forecasts.c.model_version).distinct())
        assert list(made_by) == [version]


def test_an_origin_without_a_model_is_left_out_and_a_training_offered(
    fleet, settings, add_model
):
    add_model(days_before(5))
    plan = planned(fleet, settings)
    (lonely, *_) = plan.slots
    assert (lonely.action, lonely.state) == ("leave", "skipped")
    assert [slot.reason_code for slot in plan.of("forecast")] == [
        "no_model",
        "newest_model",
        "newest_model",
    ]
    assert f"'harbor train --through {days_before(6)}'" in lonely.reason
    assert "--what train,forecast,score" in lonely.reason
    assert plan.without_model == [days_before(6)]

    with_training = planned(fleet, settings, what=("train", "forecast"))
    assert told(with_training, "train") == [(days_before(6), "train", None)]
    assert told(with_training)[0] == (days_before(6), "forecast", None)


def test_training_is_left_out_where_every_origin_has_a_model(
    fleet, settings, add_model
):
    add_model(days_before(30))
    plan = planned(fleet, settings, what=("train", "forecast"))
    assert told(plan, "train") == [(None, "leave", None)]


def test_an_origin_with_too_little_history_is_out_and_no_training_is_offered(
    fleet, settings
):
    """The fourteenth day is the first through which a model may be trained."""
    span = {"first": START + timedelta(days=11), "last": START + timedelta(days=14)}
    plan = planned(fleet, settings, **span)
    assert [slot.action for slot in plan.of("forecast")] == ["leave"] * 4
    few = plan.of("forecast")[0]
    assert f"only 12 days of data up to {span['first']}" in few.reason
    assert "training needs 14" in few.reason
    assert few.reason_code == "too_little_history"
    assert "harbor train" not in few.reason
    assert plan.without_model == [START + timedelta(days=n) for n in (13, 14)]

    trained = planned(fleet, settings, what=("train", "forecast"), **span)
    assert told(trained, "train") == [(START + timedelta(days=13), "train", None)]
    actions = [slot.action for slot in trained.of("forecast")]
    assert actions == ["leave", "leave", "forecast", "forecast"]

    early = {"first": START, "last": START + timedelta(days=5)}
    [none] = planned(fleet, settings, what=("train", "forecast"), **early).of("train")
    assert (none.action, none.state) == ("leave", "skipped")
    assert "no origin without a model has 14 days of data" in none.reason


def test_the_least_history_is_what_a_training_accepts():
    for horizon in (1, 7, 14, 63):
        least = min_training_days(horizon)
        recipe = Recipe(task=TaskConfig(horizon=horizon))
        fit_to_history(make_panel(n_depots=2, n_days=least), recipe)
        short = make_panel(n_depots=2, n_days=least - 1)
        with pytest.raises(NoDataError, match="The history has"):
            fit_to_history(short, recipe)


def test_only_what_is_missing_is_made_unless_all_of_it_is_asked_for(
    fleet, settings, add_model
):
    add_model(days_before(30))
    first = planned(fleet, settings, last=days_before(6))
    apply_plan(fleet, settings, first.backfill_id, NOW)
    missing = planned(fleet, settings)
    assert [slot.action for slot in missing.slots[:3]] == [
        "leave",
        "forecast",
        "forecast",
    ]
    assert "already there" in missing.slots[0].reason
    everything = planned(fleet, settings, only="all")
    assert [slot.replaced_rows for slot in everything.slots[:3]] == [21, 0, 0]


def test_a_live_forecast_stays_whatever_is_asked_for(fleet, settings, add_model):
    version = add_model(days_before(30))
    with fleet.begin() as connection:
        connection.execute(
            sa.insert(forecasts).values(
                depot_id="A0", origin_on=days_before(5), target_on=days_before(4),
                model_version=version, p10=1, p50=2, p90=3, point=2, basis="model", is_live=True,
                made_at=NOW,
            )
        )  # fmt: skip
    plan = planned(fleet, settings, only="all")
    assert [slot.action for slot in plan.slots[:3]] == ["forecast", "leave", "forecast"]
    assert "live forecast, which is never replaced" in plan.slots[1].reason


def test_some_depots_or_cities_are_planned_alone(fleet, settings, add_model):
    add_model(days_before(30))
    with fleet.begin() as connection:
        connection.execute(
            sa.update(depots).where(depots.c.depot_id == "A2").values(city="Ghent")
        )
    newer = {"first": days_before(3), "last": days_before(3)}
    apply_plan(fleet, settings, planned(fleet, settings, **newer).backfill_id, NOW)
    assert planned(fleet, settings, depots=("A1",)).slots[0].rows == 7
    assert planned(fleet, settings, cities=("Delft",)).slots[0].rows == 14
    both = planned(fleet, settings, depots=("A1",), cities=("Delft", "Ghent"))
    assert both.slots[0].rows == 21
    with pytest.raises(NoDataError, match=r"no depot 'A9'"):
        planned(fleet, settings, depots=("A1", "A9"))
    with pytest.raises(NoDataError, match=r"no depot in 'Paris'"):
        planned(fleet, settings, cities=("Paris",))


@pytest.mark.parametrize(
    ("newest", "refused"),
    [
        pytest.param(None, [3, 2, 1, 0], id="no forecast yet"),
        pytest.param(2, [2, 1, 0], id="a forecast of all depots two days ago"),
        pytest.param(0, [0], id="a forecast of all depots of the last day"),
    ],
)
def test_a_part_of_the_fleet_never_becomes_the_newest_forecast(
    fleet, settings, add_model, newest, refused
):
    add_model(days_before(30))
    if newest is not None:
        day = days_before(newest)
        whole = planned(fleet, settings, first=day, last=day)
        apply_plan(fleet, settings, whole.backfill_id, NOW)
    span = {"first": days_before(3), "last": LAST, "only": "all"}
    part = planned(fleet, settings, **span, depots=("A1",))
    refused_slots = [slot for slot in part.slots if slot.reason_code == "newest_day"]
    origins = [slot.origin_on for slot in refused_slots]
    assert origins == [days_before(n) for n in refused]
    assert all("'harbor forecast'" in slot.reason for slot in refused_slots)
    for request in ({}, {"depots": ("A0", "A1", "A2")}):
        plan = planned(fleet, settings, **span, **request)
        assert "newest_day" not in {slot.reason_code for slot in plan.slots}


def test_days_that_are_not_known_are_left_out(fleet, settings, add_model):
    add_model(days_before(30))
    before = START - timedelta(days=1)
    early = planned(fleet, settings, first=before, last=before)
    assert "there is no data up to" in early.slots[0].reason
    tomorrow = LAST + timedelta(days=1)
    late = planned(fleet, settings, first=LAST, last=tomorrow)
    assert [slot.action for slot in late.slots] == ["forecast", "leave", "score"]
    assert f"the data ends on {LAST}" in late.slots[1].reason


def test_nothing_is_trained_for_days_after_the_data(fleet, settings):
    tomorrow = LAST + timedelta(days=1)
    what = ("train", "forecast")
    after = planned(fleet, settings, what=what, first=tomorrow, last=tomorrow)
    assert not any(slot.is_included for slot in after.slots)
    partly = planned(fleet, settings, what=what, first=LAST, last=tomorrow)
    assert [slot.origin_on for slot in partly.slots if slot.is_included] == [LAST, LAST]


def test_time_is_estimated_from_past_runs(fleet, settings, add_model):
    add_model(days_before(30))
    assert planned(fleet, settings).slots[0].estimate_s is None
    with recorded(fleet, "hindcast") as run:
        run.metrics["rows"] = 42
    with fleet.begin() as connection:
        connection.execute(
            sa.text("update runs set finished_at = started_at + interval '6 seconds'")
        )
    # Six seconds for 42 rows, and a slot has 21.
    assert planned(fleet, settings).slots[0].estimate_s == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"first": LAST, "last": START}, "--to is .* Swap them"),
        ({"what": ("forecast", "magic")}, "--what is 'forecast,magic'"),
        ({"what": ()}, "--what is ''"),
        ({"only": "some"}, "--only is 'some'"),
    ],
)
def test_a_wrong_request_is_rejected(wrong, message):
    with pytest.raises(BadInputError, match=message):
        BackfillRequest(**{"first": START, "last": LAST} | wrong)


def test_a_year_that_was_mistyped_is_refused_or_planned_to_be_left(fleet, settings):
    with pytest.raises(BadInputError, match="a backfill has 3,660 at most"):
        BackfillRequest(days_before(6), date.max)
    plan = planned(fleet, settings, first=date.max, last=date.max, what=("forecast",))
    assert [slot.reason_code for slot in plan.slots] == ["after_data"]
