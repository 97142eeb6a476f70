"""The Compose file is one that Compose takes, and lets nothing do more than it must."""

import re

import yaml

from pipelines.settings import Settings
from pipelines.settings.login import LOOPBACK
from pipelines.settings.secret_files import secret_names
from tests.deploy.tools import DEPLOY, compose, run

COMPOSE = DEPLOY / "compose.yml"
FILE = yaml.safe_load(COMPOSE.read_text())
SERVICES = FILE["services"]
ROLES = {
    "migrate": ("harbor", {"owner_password", "writer_password", "dashboard_password"}),
    "backup": ("harbor", {"owner_password"}),
    "scheduler": ("harbor_writer", {"writer_password"}),
    "watch": ("harbor_writer", {"writer_password"}),
    "dashboard": ("harbor_dashboard", {"dashboard_password"}),
}
"""Database role and secrets of each of our services."""


def test_compose_accepts_the_file():
    done = run(*compose(), "--file", COMPOSE, "--profile", "backup", "config")
    assert done.returncode == 0, done.stderr
    assert set(yaml.safe_load(done.stdout)["services"]) == set(SERVICES)
    assert [name for name in SERVICES if "profiles" in SERVICES[name]] == ["backup"]


def test_a_container_can_do_little_has_limits_and_a_released_image():
    for name, service in SERVICES.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert not service.get("privileged"), name
        assert not service.get("cap_add") or name == "database", name
        assert {"mem_limit", "cpus", "pids_limit"} <= set(service), name
        released = r"harbor-\w+" if name in ROLES else r"\$\{\w+:-[\w/]+:v?\d+[\w.-]*\}"
        assert re.fullmatch(released, service["image"]), name


def test_each_connects_as_the_role_it_needs_with_the_secrets_it_names():
    for name, (role, secrets) in ROLES.items():
        url = SERVICES[name]["environment"]["HARBOR_DATABASE_URL"]
        assert url == f"postgresql://{role}@database:5432/harbor"
        assert set(SERVICES[name]["secrets"]) == secrets
    for name, service in SERVICES.items():
        values = map(str, service.get("environment", {}).values())
        named = {v.rpartition("/")[2] for v in values if v.startswith("/run/secrets/")}
        assert named <= set(service.get("secrets", ())), name
    # A password would stand after the user, or in a variable of that name.
    text = COMPOSE.read_text() + (DEPLOY / ".env.example").read_text()
    assert not re.findall(r"://[^/\s@]+:[^/\s@]+@", text)
    for value in re.findall(r"^ *\w*PASSWORD\w* ?[:=] *(.*)$", text, re.M):
        assert value.startswith("/run/secrets/")
    ignored = (DEPLOY / ".gitignore").read_text().splitlines()
    assert {".env", "secrets/", "inbox/", "backups/"} <= set(ignored)


def test_the_network_reaches_containers_by_the_loopback_and_the_database_nobody():
    ports = [port for each in SERVICES.values() for port in each.get("ports", ())]
    assert ports
    assert all(port.rsplit(":", 2)[0].startswith(LOOPBACK) for port in ports)
    assert SERVICES["database"]["networks"] == ["data"]
    assert FILE["networks"]["data"] == {"internal": True}
    # Postgres 18 keeps its data in a folder of the release, below the volume.
    assert SERVICES["database"]["volumes"] == ["database:/var/lib/postgresql"]


def test_only_the_scheduler_and_a_restored_backup_write_models():
    writers = {
        name
        for name, service in SERVICES.items()
        if "home:/var/lib/harbor" in service.get("volumes", ())
    }
    assert writers == {"scheduler", "backup"}


def test_nothing_of_ours_starts_before_the_tables_are_there():
    assert SERVICES["migrate"]["command"] == "harbor db upgrade"
    for name in ROLES.keys() - {"migrate"}:
        assert SERVICES[name]["depends_on"] == {
            "migrate": {"condition": "service_completed_successfully"}
        }


def test_every_setting_given_is_read_and_every_variable_explained():
    given = {
        name.removeprefix("HARBOR_").lower()
        for service in ROLES
        for name in SERVICES[service]["environment"]
        if name.startswith("HARBOR_")
    }
    files = {f"{name}_file" for name in secret_names(Settings)}
    assert given <= set(Settings.model_fields) | files
    read = set(re.findall(r"\$\{(HARBOR_\w+)", COMPOSE.read_text()))
    explained = re.findall(
        r"^(HARBOR_\w+)=", (DEPLOY / ".env.example").read_text(), re.M
    )
    assert read == set(explained)
