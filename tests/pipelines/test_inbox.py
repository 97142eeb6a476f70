"""The inbox is there before the first night, so that files can be dropped into it."""

import pytest

from pipelines.cli import db, doctor
from pipelines.cli.workplace import make_inbox, workplace
from pipelines.settings import Settings


@pytest.fixture
def home(engine, database_url, tmp_path, monkeypatch):
    monkeypatch.setenv("HARBOR_DATABASE_URL", database_url)
    monkeypatch.setenv("HARBOR_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.db
def test_any_command_that_opens_the_database_makes_it(home):
    with workplace():
        assert (home / "inbox").is_dir()


@pytest.mark.db
def test_so_does_making_the_tables(home):
    db.upgrade()
    assert (home / "inbox").is_dir()


def test_who_may_not_make_it_goes_without_and_doctor_says_so(tmp_path):
    (tmp_path / "home").write_text("no folder")
    settings = Settings(home=tmp_path / "home")
    make_inbox(settings)
    found = doctor._inbox(settings)
    assert not found.good
    assert f"{settings.inbox} cannot be read (Not a directory)" in found.says


def test_doctor_says_where_it_is_and_what_it_holds(tmp_path):
    settings = Settings(home=tmp_path)
    found = doctor._inbox(settings)
    assert found.good
    assert f"{tmp_path}/inbox is empty" in found.says
    (settings.inbox / "orders.csv").write_text("")
    assert "holds 1 file;" in doctor._inbox(settings).says
