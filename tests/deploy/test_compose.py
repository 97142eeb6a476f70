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
def test_a_container_can_do_little(name):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.get("privileged")
    assert not service.get("cap_add") or name == "database"


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_has_limits(name):
    service = SERVICES[name]
    assert {"mem_limit", "cpus", "pids_limit"} <= set(service)


@pytest.mark.parametrize("name", SERVICES)
def test_an_image_is_named_by_a_release(name):
    image = SERVICES[name]["image"]
    if name in OURS:
        assert image.startswith("harbor-")
        return
    assert re.fullmatch(r"\$\{\w+:-[\w/]+:v?\d+[\w.-]*\}", image)


def test_every_service_but_those_that_end_says_how_it_does():
    silent = {name for name in SERVICES if "healthcheck" not in SERVICES[name]}
    assert silent == {"migrate", "backup"}


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


def test_every_secret_named_is_a_file_that_is_given():
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
    assert set(published) == {"dashboard", "prometheus", "grafana"}
    for ports in published.values():
        assert all(port.rsplit(":", 2)[0].startswith(LOOPBACK) for port in ports)


def test_the_database_reaches_nothing_outside():
    assert SERVICES["database"]["networks"] == ["data"]
    assert FILE["networks"]["data"] == {"internal": True}


def test_only_the_scheduler_and_a_restored_backup_write_models():
    homes = {
        name: volume
        for name in SERVICES
        for volume in SERVICES[name].get("volumes", [])
        if volume.startswith("home:")
    }
    assert homes == {
        "scheduler": "home:/var/lib/harbor",
        "backup": "home:/var/lib/harbor",
        "dashboard": "home:/var/lib/harbor:ro",
        "watch": "home:/var/lib/harbor:ro",
    }


def test_nothing_of_ours_starts_before_the_tables_are_there():
    assert SERVICES["migrate"]["command"] == "harbor db upgrade"
    assert SERVICES["migrate"]["restart"] == "no"
    for name in set(OURS) - {"migrate"}:
        assert SERVICES[name]["depends_on"] == {
            "migrate": {"condition": "service_completed_successfully"}
        }


def test_every_setting_given_is_one_that_is_read():
    given = {
        name.removeprefix("HARBOR_").lower()
        for service in OURS
        for name in SERVICES[service]["environment"]
        if name.startswith("HARBOR_")
    }
    assert given
    files = {f"{name}_file" for name in secret_names(Settings)}
    assert given <= set(Settings.model_fields) | files


def test_every_variable_of_the_compose_file_is_explained():
    asked = set(re.findall(r"\$\{(HARBOR_\w+)", COMPOSE.read_text()))
    told = set(re.findall(r"^(\w+)=", (DEPLOY / ".env.example").read_text(), re.M))
    assert asked == {name for name in told if name.startswith("HARBOR_")}


def test_compose_itself_accepts_the_file():
    done = run(*compose(), "--file", COMPOSE, "config")
    assert done.returncode == 0, done.stderr
    asked_for = {name for name in SERVICES if "profiles" in SERVICES[name]}
    found = set(yaml.safe_load(done.stdout)["services"])
    assert found - asked_for == set(SERVICES) - asked_for
    assert asked_for == {"backup"}
