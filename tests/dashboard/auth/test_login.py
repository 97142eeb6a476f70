"""Users that a login admits, and what is served without one."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from forecaster.errors import BadInputError, ConfigError
from pipelines.cli.dashboard import streamlit_arguments
from pipelines.settings import login
from tests.dashboard.views.test_pages import assert_no_traceback, page_text

NOW = datetime(2025, 11, 21, 6, 30, tzinfo=UTC)
AUTH = """
[auth]
redirect_uri = "http://127.0.0.1:8501/oauth2callback"
cookie_secret = "a long secret that nobody guesses"
client_id = "harbor"
client_secret = "s"
server_metadata_url = "https://login.example/.well-known/openid-configuration"
"""
ALLOW = """
[allow]
domains = ["Example.com"]
emails = ["ben@elsewhere.org"]
claim = "groups"
values = ["planners"]
"""
VERIFIED = {"email_verified": True}


def write(home, text, mode=0o600):
    (home / login.FILE).write_text(text)
    (home / login.FILE).chmod(mode)


@pytest.fixture
def rule(tmp_path):
    write(tmp_path, AUTH + ALLOW)
    return login.read_rule(tmp_path)


@pytest.mark.parametrize(
    "user",
    [
        pytest.param({"email": "anna@example.com"} | VERIFIED, id="domain"),
        pytest.param({"email": " Anna@EXAMPLE.com "} | VERIFIED, id="in capitals"),
        pytest.param({"email": "ben@elsewhere.org"} | VERIFIED, id="address"),
        pytest.param({"groups": ["drivers", "planners"]}, id="one of the groups"),
        pytest.param({"groups": "planners"}, id="the only group"),
    ],
)
def test_listed_users_are_admitted(rule, user):
    assert rule.admits(user)


@pytest.mark.parametrize(
    "user",
    [
        pytest.param({}, id="says nothing"),
        pytest.param({"email": "anna@example.com.evil.org"}, id="a longer domain"),
        pytest.param({"email": "anna@notexample.com"}, id="a domain that ends alike"),
        pytest.param({"email": "anna@example.com@evil.org"}, id="two signs"),
        pytest.param({"email": "carl@elsewhere.org"}, id="another address"),
        pytest.param({"groups": ["drivers"]}, id="another group"),
        pytest.param({"groups": [["planners"]]}, id="a group within a group"),
        pytest.param({"roles": ["planners"]}, id="another claim"),
        pytest.param({"email": None, "groups": None}, id="nulls"),
    ],
)
def test_other_users_are_refused(rule, user):
    assert not rule.admits(VERIFIED | user)


@pytest.mark.parametrize(
    "verified",
    [{}, *({"email_verified": value} for value in (None, "true", 0, 1, [True]))],
)
def test_an_unverified_address_is_refused(rule, verified):
    assert not rule.admits({"email": "anna@example.com", **verified})
    assert not rule.admits({"email": "ben@elsewhere.org", **verified})


def test_a_provider_without_verified_addresses_admits_by_object_id(tmp_path):
    write(tmp_path, AUTH + '[allow]\nclaim = "oid"\nvalues = ["0f3a"]')
    entra = {"email": "anna@example.com", "tid": "77aa"}
    rule = login.read_rule(tmp_path)
    assert rule.admits({**entra, "oid": "0f3a"})
    assert not rule.admits({**entra, "oid": "0f3b"})


@pytest.mark.parametrize(
    "ends", [NOW.timestamp(), (NOW - timedelta(days=20)).timestamp(), None, "soon"]
)
def test_a_login_expires_with_its_token(ends):
    assert login.has_expired({"exp": ends}, NOW)
    assert not login.has_expired({"exp": NOW.timestamp() + 1}, NOW)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("[auth", "cannot be read", id="no TOML"),
        pytest.param(ALLOW, "redirect_uri, cookie_secret", id="no provider"),
        pytest.param(AUTH.replace('client_id = "harbor"', ""), "client_id", id="no id"),
        pytest.param(AUTH, "emails, domains or values", id="nobody is allowed"),
        pytest.param(AUTH + "[allow]\ndomains = []", "emails, domains", id="none"),
        pytest.param(AUTH + "[allow]\ndomains = 'a'", "for domains", id="no list"),
        pytest.param(
            AUTH + "[allow]\ndomains = ['']", "for domains", id="an empty word"
        ),
        pytest.param(
            re.sub("a long secret that nobody guesses", "abc", AUTH) + ALLOW,
            "cookie_secret in login.toml has 3 characters.*fewer than 32",
            id="a short secret",
        ),
        pytest.param(
            AUTH + '[allow]\nclaim = "email"\nvalues = ["anna@example.com"]',
            "claim 'email', which they may choose",
            id="a claim that anybody can make",
        ),
    ],
)
def test_an_incomplete_login_file_admits_nobody(tmp_path, text, message):
    write(tmp_path, text)
    with pytest.raises(ConfigError, match=message) as error:
        login.read_rule(tmp_path)
    assert "nobody guesses" not in str(error.value)


@pytest.mark.parametrize(
    ("mode", "is_kept"),
    [(0o644, False), (0o604, False), (0o620, False), (0o600, True), (0o440, True)],
)
def test_a_login_file_is_for_its_account_and_group_alone(tmp_path, mode, is_kept):
    write(tmp_path, AUTH + ALLOW, mode)
    if is_kept:
        assert login.read_rule(tmp_path) is not None
    else:
        with pytest.raises(ConfigError, match=f"has mode {mode:04o}.*chmod 600"):
            login.read_rule(tmp_path)


@pytest.mark.parametrize("kind", ["dangling link", "folder"])
def test_a_login_file_that_is_no_regular_file_is_an_error(tmp_path, kind):
    path = tmp_path / login.FILE
    if kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(tmp_path / "gone.toml")
    with pytest.raises(ConfigError, match=r"login\.toml cannot be read"):
        login.read_rule(tmp_path)


def test_with_a_login_other_machines_are_served_and_streamlit_reads_the_file(tmp_path):
    write(tmp_path, AUTH + ALLOW)
    login.require_guard("0.0.0.0", tmp_path, insecure=False)
    arguments = streamlit_arguments("0.0.0.0", 8501, tmp_path)
    assert f"--secrets.files={tmp_path / login.FILE}" in arguments


@pytest.mark.parametrize("address", login.LOOPBACK)
def test_this_machine_is_served_without_a_login(tmp_path, address):
    login.require_guard(address, tmp_path, insecure=False)


def test_other_machines_need_a_login_or_the_option_insecure(tmp_path):
    with pytest.raises(BadInputError, match=r"0\.0\.0\.0.*no login is set.*--insecure"):
        login.require_guard("0.0.0.0", tmp_path, insecure=False)
    login.require_guard("0.0.0.0", tmp_path, insecure=True)


@pytest.fixture
def guarded(dashboard, seeded):
    write(dashboard.parent, AUTH + ALLOW)


@pytest.mark.db
def test_nothing_is_shown_before_the_login(guarded, open_page):
    for view in ("days_ahead", "depot", "plan"):
        app = open_page(view, depot="LON-01")
        assert_no_traceback(app)
        assert "Log in to see them" in app.info[0].value
        assert app.button[0].label == "Log in"
        assert "Orders up to" not in page_text(app)
        assert "Greenwich" not in page_text(app)


@pytest.fixture
def log_in(guarded, monkeypatch):
    """Logs a user in for an hour, with the provider's claims."""

    def admit(**claims):
        claims |= {"exp": datetime.now(UTC).timestamp() + 3600}
        monkeypatch.setattr("dashboard.auth.session.claims", lambda: claims)

    return admit


@pytest.mark.db
def test_nothing_is_shown_to_a_refused_user(log_in, open_page):
    log_in(email="eve@example.com")
    app = open_page("days_ahead")
    assert_no_traceback(app)
    assert "have no access to these pages" in app.error[0].value
    assert "Greenwich" not in page_text(app)


@pytest.mark.db
def test_a_broken_login_file_admits_nobody(dashboard, seeded, open_page):
    write(dashboard.parent, "[auth")
    app = open_page("days_ahead")
    assert_no_traceback(app)
    assert "nobody is let in" in app.error[0].value
    assert "Greenwich" not in page_text(app)
