"""`harbor explain` explains the number that is shown, whatever has happened to it since."""

import json
from datetime import timedelta

import pytest
import sqlalchemy as sa

from pipelines.demand import counting
from pipelines.schema import daily_counts
from pipelines.store.forecasts import read_forecasts
from tests.pipelines.make import (
    DAYS,
    LAST,
    NOW,
    UTC_ZONE,
    add_champion,
    add_event,
    add_fleet,
    forecast_from,
)


@pytest.fixture
def fleet(clean_engine, tmp_path):
    """Two depots with a forecast that is shown; A1 is closed on its third day."""
    with clean_engine.begin() as connection:
        add_fleet(connection, n_depots=2, n_days=DAYS)
        add_event(connection, "closed", LAST + timedelta(days=3), depot_id="A1")
    counting.rebuild(clean_engine, NOW)
    add_champion(clean_engine, LAST, tmp_path / "artefacts")
    forecast_from(clean_engine, tmp_path / "artefacts", LAST, NOW, UTC_ZONE)
    return clean_engine


def explained(harbor, *words):
    return json.loads(harbor("explain", *words, "--json").stdout)


def test_the_parts_add_up_to_what_is_shown(fleet, harbor):
    with fleet.connect() as connection:
        rows = read_forecasts(connection, LAST, "v")
    for depot in ("A0", "A1"):
        told = explained(harbor, depot)
        assert (told["origin_on"], told["model_version"]) == (str(LAST), "v")
        shown = [row for row in rows if row["depot_id"] == depot]
        assert [day["target_on"] for day in told["days"]] == [
            str(row["target_on"]) for row in shown
        ]
        for day, row in zip(told["days"], shown, strict=True):
            total = sum(part["orders"] for part in day["parts"])
            assert total == pytest.approx(day["planned"]) == pytest.approx(row["point"])
            assert {"corrected since", "planner"}.isdisjoint(
                part["part"] for part in day["parts"]
            )
    assert [day["parts"][0]["part"] for day in told["days"]].index("closed") == 2


def test_a_later_correction_and_a_planner_are_parts_of_their_own(fleet, harbor):
    target = LAST + timedelta(days=1)
    with fleet.begin() as connection:
        connection.execute(
            sa.update(daily_counts)
            .where(daily_counts.c.service_on > LAST - timedelta(days=7))
            .values(orders=daily_counts.c.orders * 2)
        )
        connection.execute(
            sa.text(
                "insert into overrides (depot_id, target_on, orders, point, origin_on,"
                " model_version, reason, made_by) select depot_id, target_on, 200, point,"
                " origin_on, model_version, 'a fair', 'Anna' from forecasts"
                " where depot_id = 'A0' and target_on = :target"
            ),
            {"target": target},
        )
    counting.rebuild(fleet, NOW + timedelta(days=2))
    (day,) = explained(harbor, "A0", str(target))["days"]
    parts = {part["part"]: part["orders"] for part in day["parts"]}
    assert list(parts)[-2:] == ["corrected since", "planner"]
    assert parts["corrected since"] < -10
    assert day["planned"] == 200
    assert sum(parts.values()) == pytest.approx(200)
    with fleet.connect() as connection:
        row = read_forecasts(connection, LAST, "v")[0]
    assert parts["planner"] == pytest.approx(200 - row["point"])


def test_people_see_a_table_of_a_day_or_of_all(fleet, harbor):
    day = harbor("explain", "A1", str(LAST + timedelta(days=1))).stdout
    assert "percent" in day
    every = harbor("explain", "A1").stdout
    assert "closed" in every
    for text in (day, every):
        assert "level" in text
        assert "planned" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("A7",), "There is no depot 'A7' among A0, A1."),
        (
            ("A0", "2030-01-01"),
            "DAY is 2030-01-01, but the forecast shown covers 2024-03-01",
        ),
    ],
)
def test_what_is_not_there_is_a_sentence(fleet, harbor, words, message):
    done = harbor("explain", *words)
    assert done.returncode == 1
    assert message in done.stderr


def test_without_a_forecast_it_says_how_to_make_one(clean_engine, harbor):
    done = harbor("explain", "A0")
    assert (done.returncode, "'harbor forecast'" in done.stderr) == (1, True)
