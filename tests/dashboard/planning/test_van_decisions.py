"""Decisions on the vans of a day: saved as rows, refused in sentences, read back."""

from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from dashboard import queries
from dashboard.planning import city_settings, van_decisions
from forecaster.errors import BadInputError
from pipelines import schema
from pipelines.planning.city_settings import ACCEPT, HIRE, VanDecision


@pytest.fixture
def friday(seeded):
    return VanDecision("London", seeded.through + timedelta(days=3))


def current(decision):
    settings = city_settings.by_city(queries.freshness())[decision.city]
    return settings.decision_on(decision.target_on)


@pytest.mark.db
def test_the_newest_decision_of_a_day_counts_and_every_one_is_kept(
    friday, clean_engine
):
    assert current(friday) == friday
    hired = replace(friday, kind=HIRE, extra=9, note=" from Hertz ")
    number = van_decisions.save(hired, " Ann ")
    saved = current(friday)
    assert (saved.kind, saved.extra, saved.note, saved.made_by) == (
        HIRE, 9, "from Hertz", "Ann",
    )  # fmt: skip
    assert saved.decision_id == number
    van_decisions.save(replace(friday, off_road=2, decision_id=number), "Ben")
    assert (current(friday).kind, current(friday).off_road) == ("", 2)
    history = queries.van_decision_history("London", queries.freshness())
    assert history["made_by"].tolist() == ["Ben", "Ann"]
    with clean_engine.connect() as connection:
        count = sa.select(sa.func.count()).select_from(schema.van_decisions)
        assert connection.scalar(count) == 2


@pytest.mark.db
def test_after_an_undo_the_decision_before_it_counts_with_who_made_it(friday):
    hired = replace(friday, kind=HIRE, extra=9, note="95 EUR")
    first = van_decisions.save(hired, "Ann")
    before = current(friday)
    dearer = replace(hired, note="99 EUR", decision_id=first)
    second = van_decisions.save(dearer, "Ben")
    undo = van_decisions.save(replace(hired, decision_id=second), "Ben", is_undo=True)
    assert current(friday) == replace(before, decision_id=undo)
    again = van_decisions.save(replace(dearer, decision_id=undo), "Cleo")
    assert (current(friday).note, current(friday).made_by) == ("99 EUR", "Cleo")
    history = queries.van_decision_history("London", queries.freshness())
    marks = list(zip(history["is_undo"], history["is_undone"], strict=True))
    assert marks == [(False, False), (True, False), (False, True), (False, False)]
    van_decisions.save(replace(hired, decision_id=again), "Cleo", is_undo=True)
    assert (current(friday).note, current(friday).made_by) == ("95 EUR", "Ann")


@pytest.mark.db
def test_an_undo_of_the_only_decision_leaves_nothing_decided(friday):
    number = van_decisions.save(replace(friday, kind=ACCEPT), "Ann")
    undo = van_decisions.save(replace(friday, decision_id=number), "Ben", is_undo=True)
    left = current(friday)
    assert (left.kind, left.extra, left.decision_id) == ("", 0, undo)
    van_decisions.save(replace(left, kind=ACCEPT), "Ann")


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
    assert van_decisions.problems(wrong, " ") == [
        "Vans off the road are 100,001, but must lie between 0 and 100,000.",
        "Hire how many vans? Give a number, or accept the risk.",
        "The note is too long: at most 500 letters are kept.",
        "Your name is missing; it is kept with the decision.",
    ]
    fine = replace(wrong, extra=1, off_road=0, note="")
    assert van_decisions.problems(fine, "Ann") == []
    assert "at most 100 letters" in van_decisions.problems(fine, "a" * 101)[0]
