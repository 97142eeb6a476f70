"""Changing the champion on the page Models: who may, and what is refused."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
import sqlalchemy as sa
import streamlit as st

from dashboard.auth import promotion
from forecaster.data.panel_builder import build_panel
from forecaster.errors import BadInputError
from forecaster.inference import artefact
from pipelines import schema
from pipelines.database import roles
from pipelines.settings import login
from pipelines.store import models
from tests.dashboard.auth.test_login import ALLOW, AUTH, VERIFIED, write
from tests.dashboard.seed import CHAMPION, HORIZON, make_events, make_holidays
from tests.dashboard.views.test_pages import assert_no_traceback, page_text
from tests.make import make_artefact

pytestmark = pytest.mark.db

CHALLENGER = "20260102-challenger"
REASON = "Too high in Rotterdam since Monday"
PROMOTE = "\n[promote]\nemails = ['anna@example.com']"


@pytest.fixture
def fleet(seeded, clean_engine, dashboard):
    """The seeded fleet, and a second model that nobody has promoted yet."""
    through = seeded.through
    panel = build_panel(
        seeded.depots, seeded.demand, make_events(through), make_holidays(through),
        through, HORIZON,
    )  # fmt: skip
    add_model(clean_engine, dashboard, make_artefact(panel, seed=1), through)
    return panel


def add_model(engine, folder, made, through):
    """Records an artefact as the challenger."""
    path = artefact.save(made, folder)
    with engine.begin() as connection:
        connection.execute(
            sa.delete(schema.models).where(schema.models.c.version == CHALLENGER)
        )
        models.add_model(
            connection, version=CHALLENGER, trained_through=through, data_watermark="",
            filename=path.name, seed=1, role="challenger", scores={},
            sha256=artefact.file_sha256(path),
        )  # fmt: skip


@pytest.fixture
def at_this_machine(fleet, database_url, monkeypatch):
    """The pages as `harbor dashboard` serves them to this machine alone."""
    monkeypatch.setenv("HARBOR_PROMOTION_URL", database_url)
    monkeypatch.setattr(promotion, "_is_private", lambda: True)


@pytest.fixture
def logged_in(fleet, dashboard, database_url, monkeypatch):
    """Logs somebody in, at a dashboard on which Anna may promote."""
    monkeypatch.setenv("HARBOR_PROMOTION_URL", database_url)
    write(dashboard.parent, AUTH + ALLOW + PROMOTE)
    expires_at = datetime.now(UTC).timestamp() + 3600

    def log_in(name, **claims):
        user = {"email": f"{name}@example.com", "name": name, "exp": expires_at}
        user |= VERIFIED | claims
        monkeypatch.setattr("dashboard.auth.session.claims", lambda: user)

    return log_in


def champion(engine):
    with engine.connect() as connection:
        return models.champion(connection)


def submit(app, version=CHALLENGER, reason=REASON, name="Ben", is_sure=True):
    """Fills in the form and presses its button; None leaves a field as it is."""
    fields = {box.label: box for box in (*app.selectbox, *app.text_input)}
    entered = {"New champion": version, "Reason": reason, "Your name": name}
    for label, value in entered.items():
        if value is not None:
            fields[label].set_value(value)
    [box] = app.checkbox
    box.set_value(is_sure)
    [button] = [each for each in app.button if each.label == "Change champion"]
    button.click()
    return app.run()


def refusal(app):
    assert_no_traceback(app)
    return app.error[0].value.replace("\\", "")


def test_a_change_is_made_once_confirmed_in_a_sentence_and_kept_with_reason_and_name(
    at_this_machine, open_page, clean_engine
):
    app = submit(open_page("models"))
    assert_no_traceback(app)
    assert f"{CHALLENGER} is the champion" in app.success[0].value.replace("\\", "")
    assert "Too high in Rotterdam since Monday (Ben)" in page_text(app)
    made = champion(clean_engine)
    assert (made["version"], made["decision_reason"]) == (CHALLENGER, f"{REASON} (Ben)")
    assert made["scores"]["canary"]["passed"]


def test_a_rollback_is_offered_first_and_undoes_the_change(
    at_this_machine, open_page, clean_engine
):
    with clean_engine.begin() as connection:
        models.promote(connection, CHAMPION, "first")
        models.promote(connection, CHALLENGER, "second")
    app = open_page("models")
    [box] = [each for each in app.selectbox if each.label == "New champion"]
    assert box.value == CHAMPION
    assert any(label.endswith("the one before") for label in box.options)
    submit(app, version=None)
    assert champion(clean_engine)["version"] == CHAMPION


def test_everything_that_is_missing_is_said_at_once(
    at_this_machine, open_page, clean_engine
):
    app = submit(open_page("models"), None, None, None, is_sure=False)
    text = refusal(app)
    for sentence in (
        "The champion stays as it is",
        "Choose the model",
        "A reason is missing",
        "Your name is missing",
        "Tick the box",
    ):
        assert sentence in text
    assert champion(clean_engine)["version"] == CHAMPION


def test_a_model_that_fails_its_canary_is_refused(
    at_this_machine, open_page, clean_engine, dashboard, fleet, seeded
):
    bad = make_artefact(fleet, seed=1)
    weights = {name: each * np.float32(np.nan) for name, each in bad.weights.items()}
    add_model(clean_engine, dashboard, replace(bad, weights=weights), seeded.through)
    assert "Its canary failed" in refusal(submit(open_page("models")))
    assert champion(clean_engine)["version"] == CHAMPION


def test_a_damaged_model_is_refused(
    at_this_machine, open_page, clean_engine, dashboard
):
    with clean_engine.connect() as connection:
        filename = models.model(connection, CHALLENGER)["filename"]
    (dashboard / filename).write_bytes(b"another")
    text = refusal(submit(open_page("models")))
    assert "not the file that was recorded" in text
    assert "--unchecked" not in text, "which would not help"
    assert champion(clean_engine)["version"] == CHAMPION


def test_a_pruned_model_is_not_offered_and_refused(
    at_this_machine, open_page, clean_engine
):
    app = open_page("models")
    prune = sa.update(schema.models).where(schema.models.c.version == CHALLENGER)
    with clean_engine.begin() as connection:
        connection.execute(prune.values(pruned_at=datetime.now(UTC)))
    assert "was pruned on" in refusal(submit(app))
    assert champion(clean_engine)["version"] == CHAMPION
    text = page_text(open_page("models"))
    assert "There is no other model whose file is kept" in text


def test_whoever_is_listed_may_and_their_name_is_kept(
    logged_in, open_page, clean_engine
):
    logged_in("anna")
    submit(open_page("models"), name=None)
    made = champion(clean_engine)
    assert (made["version"], made["decision_reason"]) == (
        CHALLENGER,
        f"{REASON} (anna)",
    )


@pytest.mark.parametrize(
    ("name", "claims"),
    [
        pytest.param("ben", {}, id="another address"),
        pytest.param(
            "anna",
            {"email_verified": False, "groups": "planners"},
            id="an address that nobody verified",
        ),
    ],
)
def test_others_see_the_command_and_may_not(logged_in, open_page, name, claims):
    logged_in(name, **claims)
    app = open_page("models", model=CHALLENGER, promote="1")
    assert_no_traceback(app)
    assert not [each for each in app.button if each.label == "Change champion"]
    assert "You are not listed under" in page_text(app)
    assert "`harbor models promote VERSION" in page_text(app)
    with pytest.raises(BadInputError, match="You are not listed"):
        promotion.promote(CHALLENGER, REASON, name)


def test_without_a_login_only_this_machine_may(
    fleet, database_url, monkeypatch, open_page
):
    monkeypatch.setenv("HARBOR_PROMOTION_URL", database_url)
    text = page_text(open_page("models"))
    assert "do not know who is asking" in text
    assert "`harbor models promote VERSION" in text
    monkeypatch.setattr(promotion, "_is_private", lambda: True)
    monkeypatch.delenv("HARBOR_PROMOTION_URL")
    st.cache_resource.clear()
    text = page_text(open_page("models"))
    assert "HARBOR\\_PROMOTION\\_URL names no other" in text


@pytest.mark.parametrize(
    ("address", "names", "is_private"),
    [
        ("127.0.0.1", login.LOOPBACK, True),
        ("127.0.0.1", (), False),
        ("0.0.0.0", login.LOOPBACK, False),
        ("127.0.0.1", ("harbor.example.com",), False),
        (None, (), False),
    ],
)
def test_this_machine_alone_is_told_by_the_options_that_the_program_sets(
    monkeypatch, address, names, is_private
):
    options = {"server.address": address, "server.allowedHosts": list(names)}
    monkeypatch.setattr(promotion.st, "get_option", options.get)
    assert promotion._is_private() is is_private


def test_a_user_who_may_not_write_models_is_refused_by_the_database(
    at_this_machine, open_page, clean_engine, database_url, monkeypatch
):
    """The pages' own role, too: no setting makes it write."""
    reader = sa.make_url(database_url).update_query_dict(
        {"options": f"-c role={roles.READER}"}
    )
    monkeypatch.setattr(promotion.roles, "set_role_on_connect", lambda _: None)
    monkeypatch.setenv(
        "HARBOR_PROMOTION_URL", reader.render_as_string(hide_password=False)
    )
    assert "did not take it" in refusal(submit(open_page("models")))
    assert champion(clean_engine)["version"] == CHAMPION
