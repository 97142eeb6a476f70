"""`harbor depots list` shows what is out of the ordinary about each depot."""

import json
from datetime import date

import pytest
from pydantic import ValidationError

from pipelines.cli.depots import flags
from pipelines.demand import counting
from pipelines.store.depots import known_depots
from tests.answers import ANSWERS
from tests.pipelines.ingest.ingesting import load_one, write
from tests.pipelines.ingest.test_withdrawal import NOW

DEPOTS = """\
depot_id,name,city,timezone,country,subdivision,vans,opened_on,closed_on,closed_weekdays
A,Alpha,Delft,Europe/Amsterdam,NL,,4,2020-01-01,2024-01-05,"sat,sun"
B,Beta,Delft,Europe/Amsterdam,NL,,3,2030-01-01,,
"""


@pytest.fixture
def fleet(clean_engine, tmp_path):
    load_one(clean_engine, write(tmp_path / "depots.csv", DEPOTS))
    counts = "depot_id,date,orders\nA,2024-01-03,7\nA,2024-01-04,\nNEW,2024-01-02,1\n"
    load_one(clean_engine, write(tmp_path / "counts.csv", counts))
    counting.rebuild(clean_engine, NOW)
    return clean_engine


def test_flags_and_the_last_known_day(fleet):
    with fleet.connect() as connection:
        found = {each.depot_id: each for each in known_depots(connection)}
    told = {name: flags(each, date(2026, 6, 1)) for name, each in found.items()}
    assert told == {
        "A": ["closed since 2024-01-05", "closed Sat, Sun"],
        "B": ["opens 2030-01-01"],
        "NEW": ["incomplete"],
    }
    days = {name: each.last_on for name, each in found.items()}
    assert days == {"A": date(2024, 1, 3), "B": None, "NEW": date(2024, 1, 2)}


def test_the_command_prints_them_for_people_and_for_machines(fleet, harbor):
    assert "closed since 2024-01-05" in harbor("depots", "list").stdout
    (only,) = json.loads(harbor("depots", "list", "--incomplete", "--json").stdout)
    assert (only["depot_id"], only["flags"]) == ("NEW", ["incomplete"])


def test_an_answer_that_is_not_of_its_type_fails_its_test(fleet, harbor, monkeypatch):
    monkeypatch.setitem(ANSWERS, "depots list", list[int])
    with pytest.raises(ValidationError):
        harbor("depots", "list", "--json")
