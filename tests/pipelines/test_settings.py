"""Settings come from the environment, are checked, and keep their secrets."""

import subprocess
import sys
from datetime import date, datetime
from pathlib import Path

import pytest

from forecaster.errors import ConfigError
from pipelines.settings import CHECKOUT, Settings


def test_the_home_is_beside_the_checkout_wherever_one_stands(tmp_path):
    code = "from pipelines.settings import Settings; print(Settings.load().home)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(done.stdout.strip()) == CHECKOUT / "var"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "HARBOR_TIMEZONE",
            "Europe/Atlantis",
            r"HARBOR_TIMEZONE is 'Europe/Atlantis'.*IANA",
        ),
        ("HARBOR_HORIZON", "64", r"HARBOR_HORIZON is '64'.*less than or equal to 63"),
        ("HARBOR_NIGHTLY_AT", "25:00", r"AT is '25:00': must be.* such as 04:30"),
        ("HARBOR_NIGHTLY_AT", "4:30", r"AT is '4:30': must be hour and minute"),
        ("HARBOR_COORDINATOR", "host-a", r"HARBOR_COORDINATOR is 'host-a'"),
        (
            "HARBOR_PROCESSES",
            "0",
            r"HARBOR_PROCESSES is '0'.*greater than or equal to 1",
        ),
    ],
)
def test_a_wrong_setting_is_named_with_its_rule(monkeypatch, name, value, message):
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=message):
        Settings.load()


def test_harbor_toml_is_read_and_the_environment_outranks_it(monkeypatch, tmp_path):
    (tmp_path / "harbor.toml").write_text('timezone = "Europe/Paris"\ncountry = "FR"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARBOR_COUNTRY", "BE")
    settings = Settings.load()
    assert (settings.timezone, settings.country) == ("Europe/Paris", "BE")


def test_a_password_is_never_shown():
    settings = Settings(database_url="postgresql://me:s3cret@db/x")
    assert "s3cret" not in f"{settings!r} {settings}"


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
    assert settings.due_on(datetime.fromisoformat(now)) == date.fromisoformat(due)
