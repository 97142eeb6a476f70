"""A database of another release is refused with a sentence, by every command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.contract.test_cli import commands
from tests.ports import free_port

pytestmark = pytest.mark.db

ROOT = Path(__file__).parents[3]
MARK = "=== ended with"
# What a command needs besides its options, to come as far as the database.
ARGUMENTS = {
    "harbor ingest": ["/nowhere.csv"],
    "harbor backfill run": ["--from", "2024-02-01", "--to", "2024-02-02"],
    "harbor backfill plan": ["--from", "2024-02-01", "--to", "2024-02-02"],
    "harbor backfill retry": ["1", "--failed"],
    "harbor backup create": ["/nowhere"],
    "harbor events withdraw": ["1", "--reason", "a test"],
    "harbor quarantine dismiss": ["1", "--reason", "a test"],
    "harbor dashboard": ["--port", str(free_port())],
}
# They look at no table, or say what is wrong with the tables among other things.
NEED_NO_TABLES = {
    "harbor db url",
    "harbor db status",
    "harbor doctor",
    "harbor tpu-check",
    "harbor watch",
    "harbor notifications test",
    "harbor backup restore",
}


@pytest.fixture(scope="module")
def ahead(engine, database_url):
    """The address of a database of a release to come."""
    name = "test_ahead"
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as link:
        link.execute(sa.text(f"create database {name}"))
    url = database_url.replace("test_harbor", name)
    made = sa.create_engine(url)
    with made.begin() as connection:
        connection.execute(sa.text("create table alembic_version (version_num text)"))
        connection.execute(sa.text("insert into alembic_version values ('9999')"))
    made.dispose()
    return url


def test_every_command_says_so_where_the_database_is_ahead(ahead, tmp_path):
    """In one process, for there are many: what `main` does, command by command."""
    code = f"""
import json, sys
from pipelines.cli import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["harbor", *arguments]
    try:
        main()
        code = 0
    except SystemExit as done:
        code = done.code
    print("{MARK}", code, " ".join(arguments), file=sys.stderr, flush=True)
"""
    asked = [
        [*name.split()[1:], *(ARGUMENTS.get(name) or required(command))]
        for name, command in commands()
        if name not in NEED_NO_TABLES
    ]
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(asked)],
        env={
            **os.environ,
            "HARBOR_DATABASE_URL": ahead,
            "HARBOR_HOME": str(tmp_path),
            "PYTHONPATH": str(ROOT),
        },
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = done.stderr.split(MARK)
    assert len(told) == len(asked) + 1
    ended = [after.split("\n")[0] for after in told[1:]]
    wrong = {
        name: said
        for said, name in zip(told, ended, strict=False)
        if not name.startswith(" 1 ")
        or "9999, which this older program does not know" not in said
        or "Install the newer release" not in said
        or "Traceback" in said
    }
    assert not wrong


def required(command):
    """A value for each argument that has none."""
    return [
        "1"
        for each in command.params
        if each.required and not each.opts[0].startswith("-")
    ]
