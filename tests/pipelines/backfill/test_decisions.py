"""What a backfill does at each origin, and why: `--dry-run`, which changes nothing."""

from datetime import date, timedelta

import pytest
import sqlalchemy as sa

from forecaster.errors import BadInputError, NoDataError
from forecaster.inference import artefact, artefact_file
from pipelines.backfill import BackfillRequest
from pipelines.backfill.decisions import decide
from pipelines.demand import counting
from pipelines.schema import (
    depots,
    forecast_totals,
    forecasts,
    signal_versions,
)
from pipelines.store import models as store_models
from tests.pipelines.backfill.conftest import (
    LAST,
    NOW,
    backfill,
    days_before,
    request,
)
from tests.pipelines.make import (
    START,
    add_event,
    add_file,
    add_forecast,
    correct_count,
    count,
    query,
)


def decided(engine, settings, first=6, last=4, **options):
    return decide(engine, settings, request(first, last, **options)).origins


def due(decisions):
    return [(each.origin_on, each.is_due, each.model_version) for each in decisions]


def codes(decisions):
    return [each.reason_code for each in decisions]


def between(engine, settings, first, last, **options):
    return decide(engine, settings, BackfillRequest(first, last, **options))


def test_each_origin_gets_the_newest_model_trained_through_no_later(
    fleet, settings, add_model
):
    old, new = add_model(days_before(30)), add_model(days_before(5))
    add_model(days_before(3))
    origins = decided(fleet, settings)
    assert due(origins) == [
        (days_before(6), True, old),
        (days_before(5), True, new),
        (days_before(4), True, new),
    ]
    assert [each.rows for each in origins] == [21, 21, 21]
    assert (
        origins[0].reason
        == f"not there yet: the newest usable model, through {days_before(30)}"
    )
    assert count(fleet, forecasts) == 0


def test_an_origin_whose_model_was_pruned_or_rejected_falls_back(
    fleet, settings, add_model, prune
):
    old, new = add_model(days_before(30)), add_model(days_before(5))
    add_model(days_before(5), seed=1, role="rejected")
    prune(new)
    assert due(decided(fleet, settings)) == [
        (days_before(n), True, old) for n in (6, 5, 4)
    ]
    with fleet.connect() as connection:
        newest = store_models.newest_trained_through(connection, days_before(4))
    assert newest["version"] == old
    prune(old)
    origins = decided(fleet, settings)
    assert due(origins) == [(days_before(n), False, None) for n in (6, 5, 4)]


def test_an_origin_whose_model_is_of_an_earlier_release_falls_back_and_stays_where_it_is(
    fleet, settings, add_model, monkeypatch
):
    """After an upgrade; as an error it would say "train again", and with it nothing changed."""
    with monkeypatch.context() as earlier:
        earlier.setattr(artefact, "SCHEMA", artefact_file.SCHEMA - 1)
        foreign = add_model(days_before(5))
    assert codes(decided(fleet, settings)) == ["no_model"] * 3
    trained = decided(fleet, settings, train=True)
    assert codes(trained) == ["model_to_train"] * 3
    old = add_model(days_before(30))
    assert due(decided(fleet, settings)) == [
        (days_before(n), True, old) for n in (6, 5, 4)
    ]
    backfill(fleet, settings, 6, 4)
    with fleet.begin() as connection:
        of_last = forecasts.c.origin_on == days_before(4)
        values = {"model_version": foreign}
        connection.execute(sa.update(forecasts).where(of_last).values(values))
        connection.execute(sa.update(forecast_totals).values(values))
    stays = decided(fleet, settings)[-1]
    assert (stays.reason_code, stays.model_version) == ("unchanged", foreign)
    assert "of another release" in stays.reason


@pytest.mark.parametrize(
    ("live", "code"), [(False, "unchanged"), (True, "live_forecast")]
)
def test_what_a_pruned_model_has_forecast_is_there_all_the_same(
    fleet, settings, add_model, prune, live, code
):
    add_model(days_before(30))
    new = add_model(days_before(7))
    backfill(fleet, settings, 6, 4)
    query(fleet, sa.update(forecasts).values(is_live=live))
    prune(new)
    assert codes(decided(fleet, settings, train=True)) == 3 * [code]


def test_an_origin_without_a_model_is_left_and_a_training_offered(
    fleet, settings, add_model
):
    add_model(days_before(5))
    origins = decided(fleet, settings)
    assert codes(origins) == ["no_model", "missing", "missing"]
    assert f"'harbor train --through {days_before(6)}', or add --train" in (
        origins[0].reason
    )
    with_training = decide(fleet, settings, request(6, 4, train=True))
    assert with_training.train_through == days_before(6)
    assert due(with_training.origins)[0] == (days_before(6), True, None)


def test_an_origin_with_too_little_history_is_left_and_no_training_offered(
    fleet, settings
):
    """The fourteenth day is the first through which a model may be trained."""
    span = START + timedelta(days=11), START + timedelta(days=14)
    origins = between(fleet, settings, *span).origins
    assert codes(origins) == 2 * ["too_little_history"] + 2 * ["no_model"]
    assert f"only 12 days of data up to {span[0]}" in origins[0].reason
    assert "training needs 14" in origins[0].reason
    assert "harbor train" not in origins[0].reason

    trained = between(fleet, settings, *span, train=True)
    assert trained.train_through == START + timedelta(days=13)
    assert [each.is_due for each in trained.origins] == [False, False, True, True]
    early = START, START + timedelta(days=5)
    assert between(fleet, settings, *early, train=True).train_through is None


def correct_in_time(engine):
    """A correction that arrives before noon of the day after the origin four days ago."""
    with engine.begin() as connection:
        correct_count(connection, "A0", days_before(20), 9_999)
    morning = NOW.replace(hour=8) - timedelta(days=8)
    counting.rebuild(engine, morning)


def correct_later(engine):
    with engine.begin() as connection:
        correct_count(connection, "A0", days_before(20), 9_999)
    counting.rebuild(engine, NOW)


def count_late(engine):
    """A depot whose first count of five days ago comes only now."""
    query(
        engine,
        "delete from demand_versions where depot_id = 'A0' and service_on = :day",
        day=days_before(5),
    )
    counting.rebuild(engine, NOW)


def announce(engine, day=LAST, **columns):
    with engine.begin() as connection:
        add_event(connection, "game", day, **columns)


def add_signal(engine, **columns):
    row = {
        "signal": "rain", "city": "Delft", "day_on": LAST, "known_from": date.min,
        "version": 1, "value": 1, "known_at": sa.func.clock_timestamp(), "file_id": 1,
    }  # fmt: skip
    query(engine, sa.insert(signal_versions).values(**row | columns))


def describe_depots(engine):
    with engine.begin() as connection:
        add_file(connection, kind="depots")


@pytest.mark.parametrize(
    ("arrive", "changed"),
    [
        pytest.param(lambda _: None, [], id="nothing"),
        pytest.param(correct_in_time, [4], id="a correction known to one origin"),
        pytest.param(correct_later, [], id="a correction known to none"),
        pytest.param(count_late, [5, 4], id="a first count that came late"),
        pytest.param(announce, [6, 5, 4], id="an event"),
        pytest.param(
            lambda engine: announce(engine, known_from=days_before(5)),
            [5, 4],
            id="an event announced between",
        ),
        pytest.param(
            lambda engine: announce(engine, LAST + timedelta(days=400)),
            [],
            id="an event far ahead",
        ),
        pytest.param(add_signal, [6, 5, 4], id="a signal"),
        pytest.param(
            lambda engine: add_signal(engine, known_from=days_before(4)),
            [4],
            id="a signal booked later",
        ),
        pytest.param(describe_depots, [6, 5, 4], id="a file of depots"),
    ],
)
def test_only_origins_that_know_what_arrived_since_are_due_again(
    fleet, settings, add_model, arrive, changed
):
    add_model(days_before(30))
    backfill(fleet, settings, 6, 4)
    arrive(fleet)
    origins = decided(fleet, settings)
    expected = ["data_changed" if n in changed else "unchanged" for n in (6, 5, 4)]
    assert codes(origins) == expected
    assert [each.replaced_rows for each in origins] == [
        21 if n in changed else 0 for n in (6, 5, 4)
    ]


def test_a_live_forecast_stays_whatever_is_asked_for(fleet, settings, add_model):
    version = add_model(days_before(30))
    with fleet.begin() as connection:
        add_forecast(connection, "A0", days_before(5), version, NOW)
    origins = decided(fleet, settings, again=True)
    assert codes(origins) == ["missing", "live_forecast", "missing"]
    assert "live forecast, which is never replaced" in origins[1].reason


def test_some_depots_or_cities_are_forecast_alone(fleet, settings, add_model):
    add_model(days_before(30))
    query(
        fleet, sa.update(depots).where(depots.c.depot_id == "A2").values(city="Ghent")
    )
    backfill(fleet, settings, 3, 3)
    assert decided(fleet, settings, depots=("A1",))[0].rows == 7
    assert decided(fleet, settings, cities=("Delft",))[0].rows == 14
    both = decided(fleet, settings, depots=("A1",), cities=("Delft", "Ghent"))
    assert both[0].rows == 21
    with pytest.raises(NoDataError, match=r"no depot 'A9'"):
        decided(fleet, settings, depots=("A1", "A9"))
    with pytest.raises(NoDataError, match=r"no depot in 'Paris'"):
        decided(fleet, settings, cities=("Paris",))


def test_parts_of_the_fleet_are_not_yet_the_whole(fleet, settings, add_model):
    """The whole has totals, too; of a part, a depot that is missing is due with it."""
    add_model(days_before(30))
    backfill(fleet, settings, 3, 3)
    for depot in ("A0", "A1"):
        backfill(fleet, settings, 6, 6, depots=(depot,))
    assert codes(decided(fleet, settings, 6, 6, depots=("A0", "A1"))) == ["unchanged"]
    assert codes(decided(fleet, settings, 6, 6, depots=("A1", "A2"))) == ["missing"]
    backfill(fleet, settings, 6, 6, depots=("A2",))
    assert codes(decided(fleet, settings, 6, 6)) == ["missing"]
    backfill(fleet, settings, 6, 6)
    for part in ((), ("A1",), ("A0", "A2")):
        assert codes(decided(fleet, settings, 6, 6, depots=part)) == ["unchanged"]


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
        backfill(fleet, settings, newest, newest)
    part = decided(fleet, settings, 3, 0, again=True, depots=("A1",))
    left = [each for each in part if each.reason_code == "newest_day"]
    assert [each.origin_on for each in left] == [days_before(n) for n in refused]
    assert all("'harbor forecast'" in each.reason for each in left)
    for whole in ((), ("A0", "A1", "A2")):
        origins = decided(fleet, settings, 3, 0, again=True, depots=whole)
        assert "newest_day" not in codes(origins)


def test_days_that_are_not_known_are_left_and_nothing_is_trained_for_them(
    fleet, settings
):
    before, tomorrow = START - timedelta(days=1), LAST + timedelta(days=1)
    [early] = between(fleet, settings, before, before).origins
    assert f"the data is of {START} to {LAST}" in early.reason
    after = between(fleet, settings, tomorrow, tomorrow, train=True)
    assert (after.train_through, codes(after.origins)) == (None, ["no_data"])
    partly = between(fleet, settings, LAST, tomorrow, train=True)
    assert partly.train_through == LAST
    assert codes(partly.origins) == ["model_to_train", "no_data"]


def test_swapped_days_and_a_year_mistyped_are_refused(fleet, settings):
    with pytest.raises(BadInputError, match=r"--to is .* Swap them"):
        BackfillRequest(LAST, START)
    with pytest.raises(BadInputError, match="a backfill has 3,660 at most"):
        BackfillRequest(days_before(6), date.max)
    assert codes(between(fleet, settings, date.max, date.max).origins) == ["no_data"]
