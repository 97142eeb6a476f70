"""Settings come from the environment, are checked, and keep their secrets."""

import errno
import os
import re
from datetime import date, datetime
from pathlib import Path
from typing import get_args

import pytest

from forecaster.errors import ConfigError
from pipelines.publishing import publication
from pipelines.settings import CHECKOUT, Settings, default_home
from pipelines.settings.names import nearest


def test_the_home_is_beside_the_checkout_wherever_one_stands(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert Settings.load().home == CHECKOUT / "var"


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("TIMEZONE", "Europe/Atlantis", "must be an IANA time zone such as"),
        ("COUNTRY", "XX", "must be an ISO 3166 country"),
        ("HORIZON", "64", ".*less than or equal to 63"),
        ("POINT", "mean", r"Input should be 'median', 'balanced' or 'mape'\. Corr"),
        ("NIGHTLY_AT", "25:00", "must be.* such as 04:30"),
        ("NIGHTLY_AT", "4:30", "must be hour and minute"),
        ("READY_BY", "25:00", "must be hour and minute"),
        ("COORDINATOR", "host-a", ""),
        ("PARSER_MEMORY_MIB", "511", "must be 512 or more, or 0"),
        ("ALERT_COVERAGE_LOW", "0.95", r".*less than or equal to 0\.8\."),
        ("ALERT_COVERAGE_HIGH", "0.6", r".*greater than or equal to 0\.8\."),
    ],
)
def test_a_wrong_setting_is_named_with_its_rule(monkeypatch, name, value, rule):
    monkeypatch.setenv(f"HARBOR_{name}", value)
    with pytest.raises(ConfigError, match=f"HARBOR_{name} is '{value}': {rule}"):
        Settings.load()


NUMBERS = {
    name: field
    for name, field in Settings.model_fields.items()
    if {field.annotation, *get_args(field.annotation)} & {int, float}
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_has_a_least_and_a_greatest_value(monkeypatch, name):
    """Else what is absurd is accepted, and fails a step of the night."""
    bounds = {
        bound: getattr(each, bound)
        for each in NUMBERS[name].metadata
        for bound in ("ge", "le")
        if hasattr(each, bound)
    }
    assert bounds.keys() == {"ge", "le"}
    variable = f"HARBOR_{name.upper()}"
    monkeypatch.setenv("HARBOR_COORDINATOR", "host-a:8476")
    monkeypatch.setenv("HARBOR_PROCESSES", "4096")
    for value in (bounds["ge"] - 1, bounds["le"] + 1, 99_999_999_999, "nan"):
        monkeypatch.setenv(variable, str(value))
        with pytest.raises(ConfigError, match=f"{variable} is"):
            Settings.load()
    for value in bounds.values():
        monkeypatch.setenv(variable, str(value))
        assert getattr(Settings.load(), name) == value


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("HARBOR_NIGHTLYAT", "HARBOR_NIGHTLY_AT"),
        ("HARBOR_NIGHTLY", "HARBOR_NIGHTLY_AT"),
        ("HARBOR_TIME_ZONE", "HARBOR_TIMEZONE"),
        ("HARBOR_KEEP_ORDER_DAYS", "HARBOR_KEEP_ORDERS_DAYS"),
        ("harbor_hoem", "HARBOR_HOME"),
        ("HARBOR_DATABASE_URI", "HARBOR_DATABASE_URL"),
        ("HARBOR_DATABASE_URL_FIEL", "HARBOR_DATABASE_URL_FILE"),
    ],
)
def test_a_mistyped_name_is_refused_and_the_right_one_named(monkeypatch, typed, meant):
    monkeypatch.setenv(typed, "s3cret")
    with pytest.raises(ConfigError, match=f"{typed} is set .*; {meant} is") as wrong:
        Settings.load()
    assert "s3cret" not in str(wrong.value)


@pytest.mark.parametrize(
    "name",
    [
        "harbor_seed",  # read in any case
        "HARBOR_REQUIRE_BROWSER",
        "HARBOR_SAMPLE_DATA",
        "HARBOR_DATABASE_PASSWORD",  # of the Compose file
        "HARBOR_DATABASE_PORT",  # of Kubernetes, for a service named harbor-database
        "HARBOR_DATABASE_SERVICE_HOST",
        "HARBOR_DATABASE_PORT_5432_TCP_ADDR",
        "HARBOR_PORT",
        "HARBORMASTER_HOME",
    ],
)
def test_other_names_are_nobodys_mistake(monkeypatch, name):
    monkeypatch.setenv(name, "5")
    Settings.load()


def test_no_setting_is_taken_for_another():
    for name in Settings.model_fields:
        assert nearest(f"{name}x", Settings.model_fields) == name


def test_what_deploys_the_program_names_no_setting_wrong(monkeypatch):
    named = {
        name
        for path in (CHECKOUT / "deploy").rglob("*")
        if path.is_file()
        for name in re.findall(r"HARBOR_[A-Z_]+[A-Z]", path.read_text(errors="ignore"))
    }
    assert "HARBOR_TIMEZONE" in named
    for name in named - {f"HARBOR_{own.upper()}" for own in Settings.model_fields}:
        monkeypatch.setenv(name, "")
    Settings.load()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "nightlyat = '03:30'",
            "has 'nightlyat', but that is no setting; 'nightly_at' is",
        ),
        ("colour = 'red'", r"harbor.toml has 'colour', but that is no setting\."),
        (
            "HARBOR_HORIZON = 9",
            "'HARBOR_HORIZON', but that is no setting; 'horizon' is",
        ),
        ("timezone = = 'Europe/Paris'", r"cannot be read: Invalid .*\(at line 1"),
    ],
    ids=["mistyped", "unknown", "as in the environment", "no TOML"],
)
def test_a_wrong_line_in_harbor_toml_is_told(monkeypatch, tmp_path, line, message):
    (tmp_path / "harbor.toml").write_text(f"{line}\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=message):
        Settings.load()


def test_a_folder_that_may_not_be_entered_is_told_in_a_sentence(monkeypatch, tmp_path):
    """As root's own is to the account that root's `harbor` becomes."""

    def closed(path):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Path, "is_file", closed)
    with pytest.raises(ConfigError, match="cannot be read: Permission denied"):
        Settings.load()


def test_harbor_toml_is_read_and_the_environment_outranks_it(monkeypatch, tmp_path):
    (tmp_path / "harbor.toml").write_text('timezone = "Europe/Paris"\ncountry = "FR"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARBOR_COUNTRY", "BE")
    settings = Settings.load()
    assert (settings.timezone, settings.country) == ("Europe/Paris", "BE")


@pytest.mark.parametrize(
    ("now", "due"),
    [
        ("2025-11-20T00:10+00:00", "2025-11-18"),  # 01:10 in Amsterdam
        ("2025-11-20T04:29+00:00", "2025-11-18"),
        ("2025-11-20T04:30+00:00", "2025-11-19"),  # 05:30: the night is over
        ("2025-11-20T22:59+00:00", "2025-11-19"),
        ("2025-03-30T03:30+00:00", "2025-03-29"),  # 05:30 on the day clocks go forward
    ],
)
def test_a_day_is_due_once_its_night_is_over(now, due):
    settings = Settings(timezone="Europe/Amsterdam")
    assert settings.due_on(datetime.fromisoformat(now), {}) == date.fromisoformat(due)


def test_a_password_of_its_own_joins_a_url_that_names_the_driver(monkeypatch):
    monkeypatch.setenv("HARBOR_DATABASE_PASSWORD", "pw")
    monkeypatch.setenv("HARBOR_DATABASE_URL", "postgresql+psycopg://harbor@db/x")
    url = Settings.load().database_url.get_secret_value()
    assert url == "postgresql+psycopg://harbor:pw@db/x"


def test_an_empty_variable_empties_a_setting(monkeypatch):
    monkeypatch.setenv("HARBOR_WATCH_DASHBOARD", "")
    assert not Settings.load().watch_dashboard


def test_an_empty_home_is_the_default(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARBOR_HOME", "")
    assert Settings.load().home == default_home().resolve()


@pytest.mark.parametrize(
    "name",
    [
        "PUBLISH_URL",
        "PUBLISH_WEBHOOKS",
        "REPLICA_URL",
        "READY_BY",
        "KEEP_ORDERS_DAYS",
    ],
)
def test_an_empty_variable_unsets_what_is_optional(monkeypatch, name):
    monkeypatch.setenv(f"HARBOR_{name}", "")
    settings = Settings.load()
    assert getattr(settings, name.lower()) is None


def test_an_empty_address_publishes_nothing(monkeypatch):
    monkeypatch.setenv("HARBOR_PUBLISH_URL", "")
    assert not publication.is_wanted(Settings.load())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HOME", "~nobody-here/x"),
        ("SOURCES", "x"),
        ("SOURCES", ""),
        ("DATABASE_URL", ""),
    ],
)
def test_an_unusable_value_is_one_sentence(monkeypatch, name, value):
    monkeypatch.setenv(f"HARBOR_{name}", value)
    with pytest.raises(ConfigError, match=name):
        Settings.load()


@pytest.mark.parametrize(
    ("processes", "process", "rule"),
    [
        ("2", "1", "HARBOR_PROCESSES is 2, but without HARBOR_COORDINATOR"),
        (
            "1",
            "1",
            r"HARBOR_PROCESS is 1, but must be less than HARBOR_PROCESSES \(1\)",
        ),
    ],
)
def test_a_process_that_would_train_alone_unasked_is_refused(
    monkeypatch, processes, process, rule
):
    monkeypatch.setenv("HARBOR_PROCESSES", processes)
    monkeypatch.setenv("HARBOR_PROCESS", process)
    with pytest.raises(ConfigError, match=rule):
        Settings.load()
