"""The Compose file starts what it should, and lets nothing do more than it must."""

import re

import pytest
import yaml

from dashboard.server.serve import LOOPBACK
from pipelines.settings import Settings
from pipelines.settings.secret_files import secret_names
from tests.deploy.tools import DEPLOY, compose, run

COMPOSE = DEPLOY / "compose.yml"
FILE = yaml.safe_load(COMPOSE.read_text())
SERVICES = FILE["services"]
OURS = ("migrate", "scheduler", "dashboard", "watch", "backup")
ROLES = {
    "migrate": ("harbor", {"owner_password", "writer_password", "reader_password"}),
    "backup": ("harbor", {"owner_password"}),
    "scheduler": ("harbor_writer", {"writer_password"}),
    "watch": ("harbor_writer", {"writer_password"}),
    "dashboard": ("harbor_dashboard", {"reader_password"}),
}


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_can_do_little_and_has_limits(name):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.get("privileged")
    assert not service.get("cap_add") or name == "database"
    assert {"mem_limit", "cpus", "pids_limit"} <= set(service)


def test_postgres_18_keeps_its_data_in_the_volume():
    assert ":-postgres:18" in SERVICES["database"]["image"]
    assert SERVICES["database"]["volumes"] == ["database:/var/lib/postgresql"]


def test_no_password_is_written_down():
    text = COMPOSE.read_text() + (DEPLOY / ".env.example").read_text()
    passwords = re.findall(r"^ *(\w*PASSWORD\w*) ?[:=] *(.*)$", text, re.M)
    assert len(passwords) >= 7
    for name, value in passwords:
        assert value.startswith("/run/secrets/"), f"{name} is {value}"
    assert not re.findall(r"://[^/\s@]+:[^/\s@]+@", text), "a password in a URL"


def test_every_secret_that_is_used_is_declared():
    for name, service in SERVICES.items():
        named = {
            value.removeprefix("/run/secrets/")
            for value in service.get("environment", {}).values()
            if value.startswith("/run/secrets/")
        }
        assert named == set(service.get("secrets", ())), name
    used = {
        each for service in SERVICES.values() for each in service.get("secrets", ())
    }
    assert used == set(FILE["secrets"])
    assert {each["file"] for each in FILE["secrets"].values()} == {
        f"./secrets/{name}" for name in used
    }


@pytest.mark.parametrize("name", OURS)
def test_each_connects_as_the_role_it_needs(name):
    role, secrets = ROLES[name]
    url = SERVICES[name]["environment"]["HARBOR_DATABASE_URL"]
    assert url == f"postgresql://{role}@database:5432/harbor"
    assert set(SERVICES[name]["secrets"]) == secrets


def test_what_a_site_fills_in_is_not_committed():
    ignored = (DEPLOY / ".gitignore").read_text().splitlines()
    assert {".env", "secrets/", "inbox/", "backups/"} <= set(ignored)


def test_the_network_reaches_no_container_but_by_the_loopback():
    published = {
        name: service["ports"]
        for name, service in SERVICES.items()
        if "ports" in service
    }
    assert set(published) == {"dashboard", "prometheus", "alertmanager", "grafana"}
    for ports in published.values():
        assert all(port.rsplit(":", 2)[0].startswith(LOOPBACK) for port in ports)


def test_the_database_reaches_nothing_outside():
    assert SERVICES["database"]["networks"] == ["data"]
    assert FILE["networks"]["data"] == {"internal": True}


def test_every_setting_of_a_service_exists():
    names = {
        name.removeprefix("HARBOR_").lower()
        for service in OURS
        for name in SERVICES[service]["environment"]
        if name.startswith("HARBOR_")
    }
    assert names
    files = {f"{name}_file" for name in secret_names(Settings)}
    assert names <= set(Settings.model_fields) | files


def test_every_variable_of_the_compose_file_is_explained():
    used = set(re.findall(r"\$\{(HARBOR_\w+)", COMPOSE.read_text()))
    explained = set(re.findall(r"^(\w+)=", (DEPLOY / ".env.example").read_text(), re.M))
    assert used == {name for name in explained if name.startswith("HARBOR_")}


def test_compose_itself_accepts_the_file():
    done = run(*compose(), "--file", COMPOSE, "config")
    assert done.returncode == 0, done.stderr
    assert set(yaml.safe_load(done.stdout)["services"]) >= set(SERVICES) - {"backup"}
