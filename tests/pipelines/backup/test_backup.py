"""A backup restores everything, or says why not and changes nothing."""

import json
import os
import shutil
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.errors import InsufficientPrivilege

from forecaster.errors import BadInputError, DatabaseError, NoDataError
from pipelines.backup import archive, creation, postgres
from pipelines.backup.restoration import DROP_ALL
from pipelines.database import migrate, roles
from pipelines.settings import Settings
from pipelines.settings.ingest import DONE
from tests.pipelines.backup.conftest import NOW, Fleet
from tests.pipelines.make import query

DESTROY = ("drop schema public cascade", "create schema public")
LEDGER = (
    "select step, state from runs order by run_id desc limit 1",
    "select step from runs where state = 'running'",
)


def test_a_destroyed_database_is_restored_and_forecasts_the_same(original, tmp_path):
    before, forecast = original.rows(), original.forecast()
    original.backup(tmp_path / "backups")
    original.change(*DESTROY)
    shutil.rmtree(original.settings.home)
    original.restore(tmp_path / "backups")
    # Made again by asking for it.
    apart = {"forecasts", "forecast_totals", "publications", "scores_due"}
    assert original.forecast() == forecast
    after = original.rows()
    assert after.keys() == before.keys()
    for table in after.keys() - apart:
        assert after[table] == before[table], table
    migrate.check(original.engine)
    original.engine.dispose()


def test_a_pruned_artefact_is_not_missing(original, tmp_path):
    original.change("update models set pruned_at = now()")
    try:
        made = original.backup(tmp_path)
    finally:
        original.change("update models set pruned_at = null")
    assert made.manifest.missing == {}
    assert list(made.manifest.files) == [archive.DATABASE]


def test_a_backup_is_restored_on_another_machine(original, saved, elsewhere):
    done = elsewhere.restore(saved.folder)
    assert done.artefacts == 1
    assert elsewhere.rows() == original.rows()
    assert elsewhere.forecast() == original.forecast()
    assert roles.are_complete(roles.role_grants(elsewhere.engine))
    artefacts = elsewhere.settings.artefacts
    places = [saved.folder, *saved.folder.rglob("*"), artefacts, *artefacts.iterdir()]
    for path in places:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_later_changes_are_not_in_the_backup(
    original, elsewhere, tmp_path, monkeypatch
):
    """Rows, dump and artefacts are of one moment."""
    before, dump = original.rows(), postgres.dump
    kept = original.settings.artefacts
    away = kept.with_name("away")

    def late_dump(url, *arguments):
        with psycopg.connect(original.address) as link:
            link.execute("update models set filename = 'x' || filename")
        kept.rename(away)
        dump(url, *arguments)

    monkeypatch.setattr(postgres, "dump", late_dump)
    try:
        made = original.backup(tmp_path)
    finally:
        away.rename(kept)
    original.change("update models set filename = substr(filename, 2)")
    assert made.manifest.missing == {}
    elsewhere.restore(made.folder)
    assert elsewhere.rows() == before == original.rows()


@pytest.mark.parametrize("stopped", [KeyboardInterrupt, SystemExit, DatabaseError])
def test_a_backup_that_is_stopped_leaves_nothing(
    original, tmp_path, monkeypatch, stopped
):
    def dump(_url, _schema, _snapshot, target):
        target.write_bytes(b"half")
        raise stopped

    monkeypatch.setattr(postgres, "dump", dump)
    with pytest.raises(stopped):
        original.backup(tmp_path / "backups")
    assert list((tmp_path / "backups").iterdir()) == []


def test_a_file_is_no_backup_nor_is_an_unfinished_one_which_goes_a_day_later(
    original, tmp_path
):
    dump = tmp_path / "some.dump"
    dump.write_bytes(b"PGDMP")
    left = tmp_path / ".harbor-20240101T000000Z-abc"
    left.mkdir()
    (left / archive.DATABASE).write_bytes(b"half")
    for path in (dump, tmp_path):
        with pytest.raises(BadInputError, match="is not a backup"):
            original.restore(path, replace=True)
    original.backup(tmp_path)
    assert left.exists()
    yesterday = time.time() - creation.STAGED_FOR.total_seconds() - 1
    os.utime(left, (yesterday, yesterday))
    original.backup(tmp_path, NOW + timedelta(seconds=1))
    assert not left.exists()


def test_only_the_newest_backups_are_kept(original, tmp_path):
    (tmp_path / "harbor-of-mine").mkdir()
    made = [
        original.backup(tmp_path, NOW + timedelta(days=n), keep=2) for n in range(3)
    ]
    names = sorted(path.name for path in tmp_path.glob("harbor-*Z"))
    assert names == [each.folder.name for each in made[1:]]
    assert made[2].removed == [made[0].folder.name]
    assert (tmp_path / "harbor-of-mine").exists()
    assert archive.complete_backups(tmp_path, NOW)[-1] == made[2].folder


def test_a_backup_of_a_clock_that_was_ahead_is_the_first_to_go(original, tmp_path):
    ahead = original.backup(tmp_path, NOW + timedelta(days=40))
    first = original.backup(tmp_path, NOW, keep=2)
    second = original.backup(tmp_path, NOW + timedelta(days=1), keep=2)
    assert (first.removed, second.removed) == ([], [ahead.folder.name])
    kept = archive.complete_backups(tmp_path, NOW + timedelta(days=1))
    assert kept == [first.folder, second.folder]


def shorten(folder):
    dump = folder / archive.DATABASE
    dump.write_bytes(dump.read_bytes()[:-100])


def flip(folder):
    dump = folder / archive.DATABASE
    content = bytearray(dump.read_bytes())
    content[1000] ^= 1
    dump.write_bytes(content)


def lose(folder):
    next((folder / archive.ARTEFACTS).iterdir()).unlink()


def rewrite_manifest(folder, **changed):
    path = folder / archive.MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (shorten, "database.dump does not match its sha256"),
        (flip, "database.dump does not match its sha256"),
        (lose, r"artefacts/.*npz is missing"),
        (
            lambda folder: rewrite_manifest(folder, revision="9999"),
            "schema 9999.*older program",
        ),
        (lambda folder: (folder / "manifest.json").write_text("{"), "cannot be read"),
        (lambda folder: (folder / "manifest.json").write_text("[]"), "cannot be read"),
        (lambda folder: (folder / "manifest.json").unlink(), "is not a backup"),
    ],
)
def test_a_damaged_backup_is_refused_before_anything_changes(
    original, mine, spoil, message
):
    before = original.rows()
    spoil(mine)
    with pytest.raises(BadInputError, match=message):
        original.restore(mine, replace=True)
    assert original.rows() == before


def test_a_filled_database_is_replaced_only_on_request(original, mine):
    with pytest.raises(BadInputError, match=r"not empty: it has 2\d tables.*--replace"):
        original.restore(mine)


def test_a_database_in_use_is_not_replaced(original, mine):
    with (
        psycopg.connect(original.address),
        pytest.raises(DatabaseError, match=r"other sessions: 1.*Stop the scheduler"),
    ):
        original.restore(mine, replace=True)


def test_a_restore_that_lacks_rows_is_rolled_back(original, saved, mine):
    rewrite_manifest(mine, tables={**saved.manifest.tables, "depots": 7})
    original.change("update depots set name = name || ' of now'")
    before = original.rows()
    with pytest.raises(DatabaseError, match=r"depots does not have.*as it was"):
        original.restore(mine, replace=True)
    assert original.rows() == before
    original.change("update depots set name = replace(name, ' of now', '')")


def load(original, folder):
    postgres.load(
        original.engine.url, "public", folder / archive.DATABASE, before=DROP_ALL,
        after="select 1;", scratch=folder,
    )  # fmt: skip


def test_the_script_sets_nothing_that_older_servers_refuse(original, mine, monkeypatch):
    scripts, run = [], postgres._run

    def record(program, options, *url):
        if program == "pg_restore":
            run(program, options)
        else:
            names = [each[7:] for each in options if each.startswith("--file=")]
            scripts.extend(Path(name).read_text() for name in names)

    monkeypatch.setattr(postgres, "_run", record)
    load(original, mine)
    assert [scripts[0], scripts[2]] == [DROP_ALL, "select 1;"]
    assert "COPY public.depots" in scripts[1]
    assert "transaction_timeout" not in scripts[1]


def test_a_foreign_view_stops_the_restore(original, mine):
    original.change(
        "create schema reports", "create view reports.v as select * from depots"
    )
    with pytest.raises(DatabaseError, match="cannot drop"):
        original.restore(mine, replace=True)
    original.change("drop schema reports cascade")


def test_an_unusable_artefact_is_reported_and_the_rest_is_backed_up(original, tmp_path):
    [path] = original.settings.artefacts.iterdir()
    home = Settings(home=tmp_path / "home")
    home.artefacts.mkdir(parents=True)
    (home.artefacts / path.name).write_bytes(b"another")
    made = replace(original, settings=home).backup(tmp_path)
    assert list(made.manifest.missing) == [path.name]
    assert "not the file that was recorded" in made.manifest.missing[path.name]
    assert list(made.manifest.files) == [archive.DATABASE]


def test_a_database_without_tables_is_not_backed_up(elsewhere, tmp_path):
    with pytest.raises(NoDataError, match="no tables"):
        elsewhere.backup(tmp_path / "backups")
    assert not (tmp_path / "backups").exists()


def test_a_password_is_on_no_command_line():
    url = sa.make_url("postgresql://me:s3c%3Aret@db:5432/x?sslmode=require")
    assert psycopg.conninfo.conninfo_to_dict(postgres.address(url)) == {
        "user": "me", "host": "db", "port": "5432", "dbname": "x", "sslmode": "require",
    }  # fmt: skip
    url = sa.make_url("postgresql+psycopg://me@db/x?password=s3cret")
    assert "s3cret" not in postgres.address(url)


def test_hosts_of_the_query_are_those_that_every_other_command_reaches():
    url = sa.make_url("postgresql+psycopg://me@/x?host=one:5432&host=two:5433")
    parts = psycopg.conninfo.conninfo_to_dict(postgres.address(url))
    assert (parts["host"], parts["port"]) == ("one,two", "5432,5433")


def test_both_commands_answer_machines_and_are_recorded_runs(original, tmp_path):
    def answer(command, *words):
        told = original.harbor("backup", command, *words, "--json").stdout
        newest, running = (query(original.engine, q) for q in LEDGER)
        assert (newest, running) == (
            [(command.replace("create", "backup"), "done")],
            [],
        )
        original.engine.dispose()
        return json.loads(told)

    created = answer("create", str(tmp_path / "backups"))
    assert created["missing"] == {}
    restored = answer("restore", str(tmp_path / "backups"), "--replace")
    assert (restored["backup"], restored["artefacts"]) == (created["backup"], 1)
    assert restored["missing"] == {}
    [artefact] = original.settings.artefacts.iterdir()
    artefact.write_bytes(b"another")
    answer("create", str(tmp_path / "without"))
    restored = answer("restore", str(tmp_path / "without"), "--replace")
    assert list(restored["missing"]) == [artefact.name]


def test_a_restore_names_the_files_that_came_after_the_backup(original, tmp_path):
    done = original.settings.inbox / DONE
    done.mkdir(parents=True)
    for name in ("before.csv", "after.csv"):
        (done / name).write_text("depot_id,date,orders\n")
    made_at = datetime.now(UTC) + timedelta(minutes=1)
    later_s = (made_at + timedelta(hours=1)).timestamp()
    os.utime(done / "after.csv", (later_s, later_s))
    original.backup(tmp_path, now=made_at)
    restored = original.harbor("backup", "restore", str(tmp_path), "--replace")
    assert restored.returncode == 0, restored.stderr
    said = " ".join(restored.stderr.split())
    assert "that are newer than the backup" in said
    assert "after.csv" in said
    assert "before.csv" not in said


def fleet_at(url, home):
    address = url.render_as_string(hide_password=False)
    return Fleet(sa.create_engine(url), Settings(home=home, database_url=address))


@pytest.mark.parametrize("role", ["harbor_reader", "harbor_writer"])
def test_after_a_restore_only_the_pages_may_write_what_planners_do(
    saved, elsewhere, role
):
    elsewhere.restore(saved.folder)
    with psycopg.connect(elsewhere.address) as link:
        link.execute(f"set role {role}")
        with pytest.raises(InsufficientPrivilege):
            link.execute(
                "select save_city_settings('Delft', 1, 1, 0.9, 1, '', 'nobody', null)"
            )


def test_a_backup_without_artefacts_is_restored_into_a_home_that_is_not_there(
    new_database, elsewhere, tmp_path
):
    engine = new_database()
    migrate.upgrade(engine)
    made = fleet_at(engine.url, tmp_path / "home").backup(tmp_path / "backups")
    assert not elsewhere.settings.home.exists()
    elsewhere.restore(made.folder)


def test_a_restore_by_a_plain_owner_sees_the_sessions_of_other_roles(saved, elsewhere):
    """As RUNBOOK.md starts systemd: a superuser has made owner and dashboard."""
    engine, name = elsewhere.engine, elsewhere.engine.url.database
    alone = engine.execution_options(isolation_level="AUTOCOMMIT")
    with alone.connect() as link:
        link.execute(sa.text("create role plain_owner login createrole"))
        link.execute(sa.text(f"alter database {name} owner to plain_owner"))
        link.execute(sa.text("alter role harbor_dashboard login"))
    engine.dispose()
    owner = fleet_at(engine.url.set(username="plain_owner"), elsewhere.settings.home)
    try:
        owner.restore(saved.folder)
        page = engine.url.set(username="harbor_dashboard")
        with (
            psycopg.connect(page.render_as_string(hide_password=False)),
            pytest.raises(DatabaseError, match="other sessions: 1"),
        ):
            owner.restore(saved.folder, replace=True)
    finally:
        with alone.connect() as link:
            link.execute(sa.text("reassign owned by plain_owner to current_user"))
            link.execute(sa.text("drop owned by plain_owner"))
            link.execute(sa.text("alter role harbor_dashboard nologin"))
            link.execute(sa.text("drop role plain_owner"))
        engine.dispose()


def test_what_a_killed_removal_left_goes_with_a_later_backup(
    original, tmp_path, monkeypatch
):
    original.backup(tmp_path, NOW)

    def kill(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(creation.shutil, "rmtree", kill)
        with pytest.raises(KeyboardInterrupt):
            original.backup(tmp_path, NOW + timedelta(days=1), keep=1)
    long_ago = time.time() - 10 * 86400
    for path in tmp_path.iterdir():
        os.utime(path, (long_ago, long_ago))
    original.backup(tmp_path, NOW + timedelta(days=2), keep=1)
    newest = archive.backup_name(NOW + timedelta(days=2))
    assert [path.name for path in tmp_path.iterdir()] == [newest]


@pytest.mark.parametrize("schema", ["Fleet", "harbor-fleet"])
def test_a_schema_may_have_any_name(new_database, tmp_path, schema):
    engine = new_database()
    with engine.begin() as connection:
        connection.execute(sa.text(f'create schema "{schema}"'))
    engine.dispose()
    url = engine.url.update_query_dict({"options": f'-csearch_path="{schema}"'})
    fleet = fleet_at(url, tmp_path / "home")
    fleet.settings.home.mkdir()
    migrate.upgrade(fleet.engine)
    roles.ensure(fleet.engine)
    made = fleet.backup(tmp_path / "backups")
    fleet.restore(made.folder, replace=True)


def test_a_restore_for_machines_names_the_files_that_came_after(original, tmp_path):
    done = original.settings.inbox / DONE
    done.mkdir(parents=True, exist_ok=True)
    original.backup(tmp_path, now=datetime.now(UTC))
    (done / "after.csv").write_text("depot_id,date,orders\n")
    restored = original.harbor(
        "backup", "restore", str(tmp_path), "--replace", "--json"
    )
    assert restored.returncode == 0, restored.stderr
    assert json.loads(restored.stdout)["backup"]
    assert "after.csv" in restored.stderr
