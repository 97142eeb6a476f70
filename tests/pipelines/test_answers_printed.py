"""Commands that only read print answers of their types; `conftest` holds them against these."""

import json

import pytest
from pydantic import ValidationError
from structlog.testing import capture_logs
from typer.testing import CliRunner

from pipelines.cli import app
from tests.pipelines.ingest.ingesting import load_one, write

pytestmark = pytest.mark.db

COMMANDS = (
    "doctor", "schedule show", "runs list", "models list",
    "models live", "files list", "depots list", "events list", "quarantine list",
    "db upgrade", "db status", "db roles", "db check", "db url", "db prune",
)  # fmt: skip


def test_a_command_prints_what_the_page_says_and_nothing_else(
    clean_engine, database_url, tmp_path, monkeypatch
):
    monkeypatch.setenv("HARBOR_DATABASE_URL", database_url)
    monkeypatch.setenv("HARBOR_HOME", str(tmp_path))
    text = "depot_id,date,orders\nA,2024-01-01,1\nA,never,2\n"
    load_one(clean_engine, write(tmp_path / "a.csv", text))
    for command in COMMANDS:
        with capture_logs():
            done = CliRunner().invoke(app, [*command.split(), "--json"])
        assert not isinstance(done.exception, ValidationError), command
        assert isinstance(json.loads(done.stdout), (dict, list)), command
