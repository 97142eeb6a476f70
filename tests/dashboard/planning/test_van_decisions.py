"""Decisions on the vans of a day: saved as rows, refused in sentences, read back."""

from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from dashboard import queries
from dashboard.planning import van_decisions
from forecaster.errors import BadInputError
from pipelines import schema
from pipelines.planning.city_settings import ACCEPT, HIRE, VanDecision
from tests.dashboard.planning import changing


@pytest.fixture
def friday(seeded):
    return VanDecision("London", seeded.through + timedelta(days=3))


def current(decision):
    return changing.settings_of(decision.city).decision_on(decision.target_on)


def undo(day, planner):
    """Takes back the newest decision on a day, whoever made it."""
    changing.undo_one("vans", current(day).decision_id, planner)


@pytest.mark.db
def test_the_newest_decision_of_a_day_counts_and_every_one_is_kept(
    friday, clean_engine
):
    assert current(friday) == friday
    hired = replace(friday, kind=HIRE, extra=9, note=" from Hertz ")
    van_decisions.save(hired, " Ann ")
    saved = current(friday)
    assert (saved.kind, saved.extra, saved.note, saved.made_by) == (
        HIRE, 9, "from Hertz", "Ann",
    )  # fmt: skip
    seen = saved.decision_id
    van_decisions.save(replace(friday, off_road=2, decision_id=seen), "Ben")
    assert (current(friday).kind, current(friday).off_road) == ("", 2)
    assert changing.history("vans")["made_by"].tolist() == ["Ben", "Ann"]
    with clean_engine.connect() as connection:
        count = sa.select(sa.func.count()).select_from(schema.van_decisions)
        assert connection.scalar(count) == 2


@pytest.mark.db
def test_after_an_undo_the_decision_before_it_counts_with_who_made_it(friday):
    hired = replace(friday, kind=HIRE, extra=9, note="95 EUR")
    van_decisions.save(hired, "Ann")
    before = current(friday)
    van_decisions.save(replace(before, note="99 EUR"), "Ben")
    undo(friday, "Ben")
    assert replace(current(friday), decision_id=before.decision_id) == before
    undo(friday, "Cleo")
    assert (current(friday).note, current(friday).made_by) == ("99 EUR", "Cleo")
    history = changing.history("vans", "London")
    is_undo = history["undoes"].notna()
    marks = list(zip(is_undo, history["is_undone"], strict=True))
    assert marks == [(False, False), (True, False), (False, True), (False, False)]
    undo(friday, "Cleo")
    assert (current(friday).note, current(friday).made_by) == ("95 EUR", "Ann")


@pytest.mark.db
def test_an_undo_of_the_only_decision_leaves_nothing_decided(friday):
    van_decisions.save(replace(friday, kind=ACCEPT, off_road=2, note="sick"), "Ann")
    undo(friday, "Ben")
    left = current(friday)
    assert replace(left, made_by=None, made_at=None, decision_id=None) == friday
    van_decisions.save(replace(left, kind=ACCEPT), "Ann")


@pytest.mark.db
def test_ones_newest_change_is_the_last_of_orders_vans_and_settings(friday, seeded):
    """Unless somebody has changed it since; then nothing older is offered."""

    def newest(planner="Ann"):
        rows = queries.newest_change(planner, "London", queries.freshness())
        return rows["what"].tolist()

    assert newest() == []
    changing.change(420, day=friday.target_on, by="Ann")
    assert newest() == ["orders"]
    van_decisions.save(replace(friday, kind=ACCEPT), "Ann")
    assert newest() == ["vans"]
    changing.set_city(vans=20, by="Ann")
    assert (newest(), newest("Ben")) == (["settings"], [])
    assert queries.newest_change("Ann", "Rotterdam", queries.freshness()).empty
    changing.set_city(vans=21, by="Ben")
    assert (newest(), newest("Ben")) == ([], ["settings"])
    van_decisions.save(replace(current(friday), kind="ask"), "Ann")
    assert newest() == ["vans"]


@pytest.mark.db
def test_the_second_of_two_planners_is_told_of_the_first(friday):
    van_decisions.save(replace(friday, kind=ACCEPT), "Ann")
    with pytest.raises(
        BadInputError, match="were decided on by Ann after you had opened"
    ):
        van_decisions.save(replace(friday, kind=HIRE, extra=3), "Ben")
    assert current(friday).kind == ACCEPT


@pytest.mark.db
@pytest.mark.parametrize("other", [{"city": "Atlantis"}, {"days": 400}])
def test_a_day_that_is_not_ahead_is_refused(friday, other):
    day = friday.target_on + timedelta(days=other.pop("days", 0))
    with pytest.raises(BadInputError, match="is not among the days ahead of"):
        van_decisions.save(replace(friday, target_on=day, kind=ACCEPT, **other), "Ann")


def test_all_that_is_wrong_is_told_at_once():
    wrong = VanDecision("London", None, HIRE, 0, 100_001, "n" * 501)
    assert van_decisions.entry_problems(wrong) == [
        "Vans off the road: enter 100,000 or less, not 100,001.",
        "Hire how many vans? Give a number, or accept the risk.",
        "The note has 501 letters, but at most 500 are kept.",
    ]
    with pytest.raises(
        BadInputError, match=r"at most 500 are kept\. Your name is missing"
    ):
        van_decisions.save(wrong, " ")
    fine = replace(wrong, extra=1, off_road=0, note="")
    assert van_decisions.entry_problems(fine) == []
    with pytest.raises(BadInputError, match="at most 100 are kept"):
        van_decisions.save(fine, "a" * 101)
