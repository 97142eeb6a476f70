"""Pages read from a streaming replica, but never from one that lacks a planner's change."""

import re

import pytest
import sqlalchemy as sa
import streamlit as st

from dashboard import queries
from dashboard.queries import database
from forecaster.errors import BadInputError, DatabaseError
from pipelines.cli.replica_finding import check_replica
from pipelines.settings import Settings
from tests.dashboard.planning.changing import cell, change, save
from tests.pipelines.make import add_depot
from tests.replicas import catch_up, paused, replica_of

pytestmark = pytest.mark.db

IS_REPLICA = "select pg_is_in_recovery() as yes"
WRITE_8_MIB = (
    "select pg_logical_emit_message(true, 'test', repeat('x', 8 * 1024 * 1024))"
)
DEPOT = "LON-01"


@pytest.fixture(scope="module")
def replica_url(engine, database_url):
    """A replica of the tests' server, migrations included."""
    with replica_of(database_url) as url:
        yield url


@pytest.fixture
def replicated(seeded, database_url, replica_url, monkeypatch):
    """The seeded fleet, replicated in full; pages read from the replica."""
    catch_up(database_url, replica_url)
    monkeypatch.setenv("HARBOR_REPLICA_URL", replica_url)
    st.cache_data.clear()
    st.cache_resource.clear()
    return seeded


def read_from_replica():
    return bool(database.read(IS_REPLICA).iloc[0]["yes"])


def test_pages_read_the_replica_and_say_so_in_their_cache_key(replicated):
    assert read_from_replica()
    assert queries.freshness().is_replica


def test_without_the_setting_pages_read_the_main_database(seeded):
    assert not read_from_replica()
    assert not queries.freshness().is_replica


def test_what_others_commit_is_seen_once_the_replica_has_it(
    replicated, clean_engine, database_url, replica_url
):
    before = queries.freshness().depots
    with paused(replica_url):
        with clean_engine.begin() as writer:
            add_depot(writer, "newcomer")
        queries.freshness.clear()
        assert queries.freshness().depots == before
    catch_up(database_url, replica_url)
    queries.freshness.clear()
    assert queries.freshness().depots == before + 1


def test_a_planners_change_is_seen_at_once_while_the_replica_is_behind(
    replicated, tomorrow, database_url, replica_url
):
    """Pages read from the main database until the replica has the change, and not longer."""
    with paused(replica_url):
        change(900, day=tomorrow)
        assert cell(DEPOT, tomorrow).orders == 900
        assert not queries.freshness().is_replica
    catch_up(database_url, replica_url)
    queries.freshness.clear()
    assert cell(DEPOT, tomorrow).orders == 900
    assert queries.freshness().is_replica


def test_a_change_refused_for_another_planners_is_shown_that_one(
    replicated, tomorrow, replica_url, database_url
):
    seen = cell(DEPOT, tomorrow)
    with paused(replica_url):
        change(900, day=tomorrow, by="Anna")
        # Simulates another dashboard process, which did not write that change.
        st.cache_resource.clear()
        st.cache_data.clear()
        assert cell(DEPOT, tomorrow) == seen
        with pytest.raises(BadInputError, match="Anna"):
            save(700, seen, by="Ben")
        queries.freshness.clear()
        assert cell(DEPOT, tomorrow).orders == 900
    catch_up(database_url, replica_url)


def test_writes_go_to_the_main_database_alone(replicated, replica_url):
    with (
        pytest.raises(sa.exc.InternalError, match="read-only transaction"),
        sa.create_engine(replica_url).connect() as connection,
    ):
        connection.execute(sa.text("delete from overrides"))


def test_an_address_that_cannot_be_read_names_its_setting(seeded, monkeypatch):
    monkeypatch.setenv("HARBOR_REPLICA_URL", "secret nonsense")
    st.cache_resource.clear()
    with pytest.raises(DatabaseError, match="HARBOR_REPLICA_URL is not an") as error:
        database.read(IS_REPLICA)
    assert "secret" not in str(error.value)


def finding(engine, tmp_path, url):
    settings = Settings(home=tmp_path, replica_url=url)
    found = check_replica(engine, settings)
    return [(each.ok, each.message) for each in found]


def mib_behind(engine, tmp_path, url) -> float:
    [(good, says)] = finding(engine, tmp_path, url)
    assert good
    return float(re.fullmatch(r"answers, ([\d.]+) MiB of changes behind", says)[1])


def test_doctor_says_how_far_the_replica_is_behind(
    clean_engine, tmp_path, replica_url, database_url
):
    """A paused replica is behind by what was written, give or take the server's own upkeep."""
    catch_up(database_url, replica_url)
    assert mib_behind(clean_engine, tmp_path, replica_url) < 4
    with paused(replica_url):
        with clean_engine.begin() as writer:
            writer.execute(sa.text(WRITE_8_MIB))
        assert 8 <= mib_behind(clean_engine, tmp_path, replica_url) < 12
    catch_up(database_url, replica_url)
    assert mib_behind(clean_engine, tmp_path, replica_url) < 4
    assert finding(clean_engine, tmp_path, None) == []


@pytest.mark.parametrize(
    ("url", "told"),
    [
        (None, "follows another database or none"),
        (
            "postgresql://u:secret@127.0.0.1:9/x",
            "does not answer.*unset HARBOR_REPLICA",
        ),
        ("secret nonsense", "HARBOR_REPLICA_URL is not the address"),
    ],
    ids=["main", "dead", "nonsense"],
)
def test_doctor_warns_of_a_replica_that_is_none(
    engine, tmp_path, database_url, url, told
):
    [(good, says)] = finding(engine, tmp_path, url or database_url)
    assert not good
    assert "secret" not in says
    assert re.search(told, says)
