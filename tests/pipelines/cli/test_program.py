"""`harbor --version`, `-h`, and the forecast as CSV."""

import csv
import io
import json
from importlib.metadata import version

import pytest
import sqlalchemy as sa

from forecaster.inference import infer
from pipelines import schema
from tests.pipelines import in_process
from tests.pipelines.backup.conftest import LAST
from tests.pipelines.make import add_champion, count, count_fleet, query, scalar


def harbor(*words):
    done = in_process.harbor(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_version_is_that_of_the_package():
    assert harbor("--version") == f"harbor {version('harbor-fleet')}\n"


@pytest.mark.parametrize("words", [[], ["ingest"], ["models"], ["models", "list"]])
def test_h_is_short_for_help(words):
    assert harbor(*words, "-h") == harbor(*words, "--help")


@pytest.mark.parametrize(
    "words",
    [["runs", "show"], ["runs", "list", "--limit"], ["files", "withdraw", "1"]],
)
def test_a_number_that_no_id_can_have_is_wrong_usage(words):
    done = in_process.harbor(*words, str(2**63))
    assert done.returncode == 2
    assert "must lie between" in done.stderr


@pytest.fixture
def fleet(clean_engine, database_url, tmp_path, monkeypatch):
    """Three depots with a champion whose artefact is there."""
    monkeypatch.setenv("HARBOR_DATABASE_URL", database_url)
    monkeypatch.setenv("HARBOR_HOME", str(tmp_path))
    count_fleet(clean_engine, n_depots=3)
    add_champion(clean_engine, LAST, tmp_path / "artefacts")


def test_the_forecast_as_csv_has_the_rows_of_the_json_answer(fleet):
    rows = list(csv.DictReader(io.StringIO(harbor("forecast", "--csv"))))
    answer = json.loads(harbor("forecast", "--json"))
    assert len(rows) == len(answer) == 3 * 7
    assert rows == [{name: str(value) for name, value in row.items()} for row in answer]


def test_csv_and_json_at_once_is_wrong_usage():
    assert in_process.harbor("forecast", "--csv", "--json").returncode == 2


def test_a_planners_number_is_printed_with_the_models(fleet, clean_engine):
    first, *others = json.loads(harbor("forecast", "--json"))
    assert first["planned"] == first["point"] <= first["p50"]
    override = {name: first[name] for name in ("depot_id", "origin_on", "target_on")}
    override |= {"model_version": first["model_version"], "point": first["point"]}
    override |= {"orders": 9990.0, "reason": "A fair", "made_by": "Ann"}
    query(clean_engine, sa.insert(schema.overrides).values(override))
    planned, *rest = json.loads(harbor("forecast", "--json"))
    assert (planned["planned"], planned["point"]) == (9990.0, first["point"])
    assert rest == others
    assert f"9,990 (model {first['point']:,.0f})" in harbor("forecast")


def test_a_forecast_whose_session_ended_while_it_was_computed_is_not_stored(
    fleet, clean_engine, monkeypatch
):
    compute = infer.forecast
    began_at = scalar(clean_engine, "select clock_timestamp()")

    def compute_meanwhile(*inputs):
        query(
            clean_engine,
            "select pg_terminate_backend(pid, 10000) from pg_stat_activity "
            "where datname = current_database() and backend_start >= :began_at "
            "and pid <> pg_backend_pid()",
            began_at=began_at,
        )
        return compute(*inputs)

    monkeypatch.setattr(infer, "forecast", compute_meanwhile)
    done = in_process.harbor("forecast")
    assert done.returncode == 1
    assert "lost the database session that held its lock" in done.stderr
    assert count(clean_engine, schema.forecasts) == 0
