"""A password that was planted in every setting is found nowhere it could be read."""

import contextlib
import itertools

import sqlalchemy as sa

from pipelines.settings import Settings
from pipelines.settings.secret_files import secret_names
from tests.contract.test_cli import COMMANDS
from tests.pipelines.faults.faults import cluster_of
from tests.pipelines.in_process import harbor

PLANTED = "pl4nted-Pa55word"

HELPS = [[*name.split()[1:], "--help"] for name in COMMANDS]
# Everything but `db url`, which is there to print the address whole.
COMMANDS_RUN = [
    ["doctor"],
    ["doctor", "--json"],
    ["db", "status", "--json"],
    ["db", "upgrade"],
    ["db", "roles", "--json"],
    ["runs", "list", "--json"],
    ["runs", "show", "1"],
    ["models", "list", "--json"],
    ["schedule", "show", "--json"],
    ["ingest", "no-such-file.csv"],
    ["nightly"],
    ["forecast", "--json"],
    ["dashboard", "--address", "0.0.0.0"],
    ["backup", "create", "backups", "--json"],
    ["backup", "restore", "backups"],
]  # fmt: skip


def run_all(commands, folder, *urls):
    """The output of commands, with the password in every setting that is a secret."""
    planted = {f"HARBOR_{name.upper()}": PLANTED for name in secret_names(Settings)}
    output = ""
    with contextlib.chdir(folder):
        for url, words in itertools.product(urls, commands):
            here = {"HARBOR_HOME": str(folder / "home"), "HARBOR_DATABASE_URL": url}
            done = harbor(*words, **planted | here)
            output += done.stdout + done.stderr
    return output


def test_no_help_shows_it(tmp_path):
    output = run_all(HELPS, tmp_path, f"postgresql://me:{PLANTED}@127.0.0.1:1/none")
    assert output.count("Usage") == len(HELPS)
    assert PLANTED not in output


def test_no_error_shows_it(tmp_path):
    """Errors of a missing database, an unknown host, and an invalid address."""
    urls = (
        f"postgresql://me:{PLANTED}@127.0.0.1:1/none",
        f"postgresql://me:{PLANTED}@no-such-host.invalid/none",
        f"my password is {PLANTED}",
    )
    output = run_all([["runs", "list"]], tmp_path, *urls)
    assert output.count("harbor: ") >= len(urls)
    output += run_all([["doctor", "--json"]], tmp_path, urls[0])
    assert PLANTED not in output


def test_no_answer_log_ledger_file_or_server_shows_it(
    clean_engine, database_url, tmp_path
):
    url = database_url.replace("harbor@", f"harbor:{PLANTED}@")
    output = run_all(COMMANDS_RUN, tmp_path, url)
    assert "harbor_writer" in output
    assert PLANTED not in output
    with clean_engine.connect() as connection:
        for table in sa.inspect(connection).get_table_names():
            text = connection.scalars(sa.text(f"select t::text from {table} t"))
            assert not [row for row in text if PLANTED in row], table
        steps = set(connection.scalars(sa.text("select step from runs")))
    assert {"backup", "nightly"} <= steps
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "manifest.json" for path in files)
    for path in [*files, cluster_of(database_url).log]:
        assert PLANTED.encode() not in path.read_bytes(), path
