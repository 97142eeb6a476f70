"""Secrets come from files, whole and alone, and are never shown."""

import pytest

from forecaster.errors import ConfigError
from pipelines.settings import Settings
from pipelines.settings.secret_files import secret_names

URL = "postgresql://harbor:s3cret@database/harbor"


@pytest.fixture
def secret(tmp_path):
    file = tmp_path / "secret"
    file.write_text(f"{URL}\n")
    return file


def test_every_secret_may_come_from_a_file_and_none_is_shown(monkeypatch, secret):
    names = secret_names(Settings)
    assert {"database_url", "database_password"} <= names
    assert "home" not in names
    for name in names:
        monkeypatch.setenv(f"HARBOR_{name.upper()}_FILE", str(secret))
    settings = Settings.load()
    assert {getattr(settings, name).get_secret_value() for name in names} == {URL}
    assert "s3cret" not in f"{settings!r} {settings}"


def test_harbor_toml_may_name_the_file(monkeypatch, secret, tmp_path):
    (tmp_path / "harbor.toml").write_text(f'database_url_file = "{secret}"\n')
    monkeypatch.chdir(tmp_path)
    assert Settings.load().database_url.get_secret_value() == URL


@pytest.mark.parametrize(
    ("url", "whole"),
    [
        ("postgresql://harbor@db:5432/x", "postgresql://harbor:p%40ss%3A%2F@db:5432/x"),
        ("postgresql://harbor@/x?host=/run", "postgresql://harbor:p%40ss%3A%2F@/x?host=/run"),
        ("postgresql://harbor:own@db/x", "postgresql://harbor:own@db/x"),
        ("postgresql://db/x", "postgresql://db/x"),
    ],
    ids=["host", "socket", "has its own", "nobody to have it"],
)  # fmt: skip
def test_a_password_of_its_own_joins_the_url(monkeypatch, tmp_path, url, whole):
    (tmp_path / "password").write_text("p@ss:/\n")
    monkeypatch.setenv("HARBOR_DATABASE_PASSWORD_FILE", str(tmp_path / "password"))
    monkeypatch.setenv("HARBOR_DATABASE_URL", url)
    assert Settings.load().database_url.get_secret_value() == whole


def test_one_that_is_given_twice_is_refused(monkeypatch, secret):
    monkeypatch.setenv("HARBOR_DATABASE_URL", "postgresql://other@db/x")
    monkeypatch.setenv("HARBOR_DATABASE_URL_FILE", str(secret))
    with pytest.raises(ConfigError, match=r"URL and HARBOR_DATABASE_URL_FILE are both"):
        Settings.load()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"\xff\xfe\x00s3cret", "cannot be read: it is not text"),
        (b" \n", "does not hold one line"),
        (b"s3cret\nand more", "does not hold one line"),
        (b"s3cret" * 2000, "does not hold one line"),
    ],
    ids=["none", "no text", "empty", "two lines", "long"],
)
def test_a_file_without_a_secret_is_told_without_what_it_holds(
    monkeypatch, tmp_path, content, message
):
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setenv("HARBOR_DATABASE_URL_FILE", str(file))
    with pytest.raises(ConfigError, match=message) as caught:
        Settings.load()
    assert "HARBOR_DATABASE_URL_FILE" in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_a_secret_of_a_file_is_read_where_the_variable_is_there_but_empty(
    monkeypatch, tmp_path
):
    (tmp_path / "urls").write_text("json://127.0.0.1:9/x\n")
    monkeypatch.setenv("HARBOR_NOTIFY_URLS", "")
    monkeypatch.setenv("HARBOR_NOTIFY_URLS_FILE", str(tmp_path / "urls"))
    urls = Settings.load().notify_urls
    assert urls.get_secret_value() == "json://127.0.0.1:9/x"
