"""Commands that only read print answers of their types; `conftest` holds them against these."""

import json

from tests.pipelines.ingest.ingesting import load_one, write

COMMANDS = (
    "doctor", "schedule show", "runs list", "models list",
    "models live", "files list", "depots list", "events list", "quarantine list",
    "db upgrade", "db status", "db roles", "db check", "db url", "db prune",
)  # fmt: skip


def test_a_command_prints_what_the_page_says_and_nothing_else(
    clean_engine, harbor, tmp_path
):
    text = "depot_id,date,orders\nA,2024-01-01,1\nA,never,2\n"
    load_one(clean_engine, write(tmp_path / "a.csv", text))
    for command in COMMANDS:
        answer = json.loads(harbor(*command.split(), "--json").stdout)
        assert isinstance(answer, (dict, list)), command
