"""Promotes a model from the page Models: who may, and as which database user.

The pages' own database role cannot write models. The change goes through the function of
`harbor models promote`, on a connection of its own to HARBOR_PROMOTION_URL.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import sqlalchemy as sa
import streamlit as st
from pydantic import SecretStr
from sqlalchemy.exc import DBAPIError

from dashboard import queries
from dashboard.auth import session
from dashboard.planning import overrides
from dashboard.queries import database
from forecaster.errors import BadInputError, DatabaseError
from pipelines.database import roles
from pipelines.database.engine import parsed_url
from pipelines.settings import login
from pipelines.training import manual_promotion

SETTING = "HARBOR_PROMOTION_URL"


def why_not_allowed() -> str | None:
    """Why this session may not promote models, in a sentence; None if it may.

    With a login, [promote] of login.toml lists who may. Without one, whoever sits at this
    machine may, if it alone is served.

    Raises:
      ConfigError: login.toml is incomplete.
    """
    settings = queries.settings()
    if login.read_rule(settings.home) is None:
        is_allowed = _is_private()
        reason = "Without a login, these pages do not know who is asking."
    else:
        rule, user = login.read_promotion_rule(settings.home), session.claims()
        is_allowed = rule is not None and user is not None and rule.admits(user)
        reason = f"You are not listed under [promote] in {login.FILE}."
    if not is_allowed:
        return reason
    if settings.promotion_url is None:
        return (
            f"The pages' database user only reads models, and {SETTING} names no other."
        )
    return None


def _is_private() -> bool:
    """Whether the server answers names of this machine alone, as `harbor dashboard` sets it."""
    names = tuple(st.get_option("server.allowedHosts") or ())
    return st.get_option("server.address") in names and names == login.LOOPBACK


def problems(version: str | None, reason: str, planner: str) -> list[str]:
    """A sentence for everything that is missing or too long."""
    missing = [] if version else ["Choose the model that is to be champion."]
    return missing + overrides.text_problems(reason, planner)


def promote(version: str, reason: str, planner: str) -> str:
    """Makes a model the champion, and returns which forecast is shown then, in a sentence.

    The reason is stored with the model, with the planner's name.

    Raises:
      BadInputError: this session may not, a text is missing, or the canary fails.
      ArtefactError: the model's artefact is missing, damaged or pruned.
      DatabaseError: the database does not answer, or refuses the user.
    """
    wrong = why_not_allowed()
    sentences = [wrong] if wrong else problems(version, reason, planner)
    if sentences:
        raise BadInputError(" ".join(sentences))
    settings = queries.settings()
    text = f"{reason.strip()} ({planner.strip()})"
    with _writing_engine(settings.promotion_url) as engine:
        try:
            now = datetime.now(UTC)
            champion = manual_promotion.promote(engine, settings, version, text, now)
        finally:
            # A canary that failed is stored, too.
            database.show_changes()
            queries.freshness.clear()
            queries.models.clear()
    return champion.sentence()


@contextmanager
def _writing_engine(url: SecretStr | None) -> Iterator[sa.Engine]:
    """The database as a user who may write models, in the writer's role if it may."""
    assert url is not None, "requires a promotion_url"
    engine = sa.create_engine(
        parsed_url(url.get_secret_value(), SETTING),
        connect_args={"connect_timeout": database.CONNECT_SECONDS},
    )
    roles.set_role_on_connect(engine)
    try:
        yield engine
    except DBAPIError as error:
        raise DatabaseError(
            f"The database did not take it from the user of {SETTING}: "
            f"{str(error.orig).splitlines()[0]}."
        ) from None
    finally:
        engine.dispose()
