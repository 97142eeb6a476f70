"""Who may come in, and what is served to whom."""

import importlib.util
import re
from datetime import UTC, datetime, timedelta

import pytest

from dashboard.auth import login
from dashboard.server import serve
from forecaster.errors import BadInputError, ConfigError
from tests.dashboard.views.test_pages import assert_no_traceback, said

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


def claims(**other):
    return {"exp": (NOW + timedelta(hours=1)).timestamp(), **other}


def write(home, text, mode=0o600):
    (home / login.FILE).write_text(text)
    (home / login.FILE).chmod(mode)


@pytest.fixture
def rule(tmp_path):
    write(tmp_path, AUTH + ALLOW)
    return login.rule(tmp_path)


@pytest.mark.parametrize(
    "said",
    [
        pytest.param({"email": "anna@example.com"} | VERIFIED, id="domain"),
        pytest.param({"email": " Anna@EXAMPLE.com "} | VERIFIED, id="in capitals"),
        pytest.param({"email": "ben@elsewhere.org"} | VERIFIED, id="address"),
        pytest.param({"groups": ["drivers", "planners"]}, id="one of the groups"),
        pytest.param({"groups": "planners"}, id="the only group"),
    ],
)
def test_who_is_allowed_comes_in(rule, said):
    assert rule.refusal(claims(**said), NOW) is None


@pytest.mark.parametrize(
    "said",
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
def test_who_is_not_stays_outside(rule, said):
    assert "not among those" in rule.refusal(claims(**VERIFIED | said), NOW)


@pytest.mark.parametrize("email", ["anna@example.com", "ben@elsewhere.org"])
@pytest.mark.parametrize(
    "verified",
    [
        pytest.param({}, id="nothing is said of it"),
        *(
            pytest.param({"email_verified": said}, id=repr(said))
            for said in (False, None, "false", "true", "False", "", 0, 1, [True])
        ),
    ],
)
def test_an_address_that_is_not_verified_lets_nobody_in(rule, email, verified):
    refused = rule.refusal(claims(email=email, **verified), NOW)
    assert "not among those" in refused
    assert rule.refusal(claims(email=email, **VERIFIED), NOW) is None


def test_a_provider_that_verifies_nothing_lets_people_in_by_their_object_id(tmp_path):
    write(tmp_path, AUTH + '[allow]\nclaim = "oid"\nvalues = ["0f3a"]')
    entra = {"email": "anna@example.com", "tid": "77aa"}
    rule = login.rule(tmp_path)
    assert rule.refusal(claims(**entra, oid="0f3a"), NOW) is None
    assert "not among those" in rule.refusal(claims(**entra, oid="0f3b"), NOW)


@pytest.mark.parametrize(
    "ends", [NOW.timestamp(), (NOW - timedelta(days=20)).timestamp(), None, "soon"]
)
def test_a_login_ends_when_its_token_does(rule, ends):
    refused = rule.refusal({"email": "anna@example.com", "exp": ends}, NOW)
    assert "has expired" in refused


def test_without_a_file_there_is_no_login(tmp_path):
    assert login.rule(tmp_path) is None
    assert serve.login_file(tmp_path) is None


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
def test_a_login_that_is_not_whole_lets_nobody_in(tmp_path, text, message):
    write(tmp_path, text)
    with pytest.raises(ConfigError, match=message) as error:
        login.rule(tmp_path)
    assert "nobody guesses" not in str(error.value)


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o620, 0o666])
def test_a_login_that_other_accounts_can_read_or_write_lets_nobody_in(tmp_path, mode):
    write(tmp_path, AUTH + ALLOW, mode)
    with pytest.raises(ConfigError, match=f"has mode {mode:04o}.*chmod 600"):
        serve.login_file(tmp_path)


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o440])
def test_a_login_that_only_its_account_and_group_read_is_taken(tmp_path, mode):
    write(tmp_path, AUTH + ALLOW, mode)
    assert login.rule(tmp_path) is not None


@pytest.mark.parametrize("kind", ["dangling link", "folder"])
def test_a_login_that_is_no_file_is_refused_and_not_overlooked(tmp_path, kind):
    path = tmp_path / login.FILE
    if kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(tmp_path / "gone.toml")
    with pytest.raises(ConfigError, match=r"login\.toml cannot be read"):
        login.rule(tmp_path)


def test_without_its_package_a_login_is_not_served(tmp_path, monkeypatch):
    write(tmp_path, AUTH + ALLOW)
    monkeypatch.setattr(serve.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match="pip install authlib httpx"):
        serve.login_file(tmp_path)


def test_what_a_login_is_made_of_comes_with_the_program():
    for package in serve.NEEDED:
        assert importlib.util.find_spec(package), package


def test_with_its_package_the_server_is_told_of_the_login(tmp_path, monkeypatch):
    write(tmp_path, AUTH + ALLOW)
    monkeypatch.setattr(serve.importlib.util, "find_spec", lambda _: object())
    guard = serve.login_file(tmp_path)
    serve.require_guard("0.0.0.0", insecure=False, guard=guard)
    arguments = serve.streamlit_arguments("0.0.0.0", 8501, guard)
    assert f"--secrets.files={tmp_path / login.FILE}" in arguments


@pytest.mark.parametrize("address", serve.LOOPBACK)
def test_this_machine_is_served_without_a_login(address):
    serve.require_guard(address, insecure=False, guard=None)


def test_other_machines_are_not_unless_somebody_says_so():
    with pytest.raises(BadInputError, match=r"0\.0\.0\.0.*no login is set.*--insecure"):
        serve.require_guard("0.0.0.0", insecure=False, guard=None)
    serve.require_guard("0.0.0.0", insecure=True, guard=None)


@pytest.fixture
def guarded(dashboard, seeded):
    write(dashboard.parent, AUTH + ALLOW)


@pytest.mark.db
def test_nothing_is_shown_to_who_has_not_logged_in(guarded, open_page):
    for view in ("fleet", "depot", "plan"):
        app = open_page(view, depot="LON-01")
        assert_no_traceback(app)
        assert "Log in to see them" in app.info[0].value
        assert app.button[0].label == "Log in"
        assert "Orders up to" not in said(app)
        assert "Greenwich" not in said(app)


@pytest.mark.db
def test_nothing_is_shown_to_who_may_not_come_in(guarded, open_page, monkeypatch):
    ends = datetime.now(UTC).timestamp() + 3600
    stranger = {"email": "eve@example.com", "exp": ends}
    monkeypatch.setattr("dashboard.auth.session.claims", lambda: stranger)
    app = open_page("fleet")
    assert_no_traceback(app)
    assert "not among those" in app.error[0].value
    assert "Greenwich" not in said(app)


@pytest.mark.db
def test_a_planner_comes_in_and_is_named_by_the_login(guarded, open_page, monkeypatch):
    ends = datetime.now(UTC).timestamp() + 3600
    anna = {"email": "anna@example.com", "name": "Anna", "exp": ends} | VERIFIED
    monkeypatch.setattr("dashboard.auth.session.claims", lambda: anna)
    app = open_page("plan")
    assert_no_traceback(app)
    assert "Your name" not in [box.label for box in app.text_input]
    numbers = {box.label: box for box in app.number_input}
    numbers["Orders (for “Set orders”)"].set_value(4321)
    next(box for box in app.text_input if box.label == "Reason").set_value("A strike")
    app.button[0].click().run()
    assert_no_traceback(app)
    assert "Anna" in said(app)


@pytest.mark.db
def test_a_broken_login_lets_nobody_in(dashboard, seeded, open_page):
    write(dashboard.parent, "[auth")
    app = open_page("fleet")
    assert_no_traceback(app)
    assert "nobody is let in" in app.error[0].value
    assert "Greenwich" not in said(app)
