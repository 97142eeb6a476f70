"""Runs the queries of the first page, so that `harbor watch` can measure how long they take."""

from inspect import unwrap

import streamlit as st
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from dashboard import queries
from forecaster.errors import HarborError

PATH = "/first-page"
MIN_SECONDS_BETWEEN = 30


def answer(_: Request) -> Response:
    """Answers once the queries have ended: 200, or 503 where one failed."""
    try:
        _read_first_page()
    except (HarborError, SQLAlchemyError):
        return PlainTextResponse("The database does not answer.\n", status_code=503)
    return PlainTextResponse("The first page's queries have ended.\n")


# Cached, so that repeated requests, which need no login, cannot load the database.
@st.cache_data(ttl=MIN_SECONDS_BETWEEN, max_entries=1, show_spinner=False)
def _read_first_page() -> None:
    """Runs the queries of the first page without their caches."""
    freshness = unwrap(queries.freshness)()
    if freshness.origin_on is None or freshness.last_on is None:
        return
    unwrap(queries.daily_totals)("", freshness)
    unwrap(queries.fleet_week)(freshness)
