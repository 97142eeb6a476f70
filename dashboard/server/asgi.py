"""The ASGI application: Streamlit, with security headers and a check of web socket origins.

It serves Streamlit's static files itself, because a page needs sixty of them or more.
"""

import base64
import hashlib
import mimetypes
import re
from pathlib import Path
from urllib.parse import urlsplit

# Slow to import: the first planner after a start would wait for them.
import altair as alt  # noqa: F401
import pandas as pd  # noqa: F401
import psycopg  # noqa: F401
import sqlalchemy as sa  # noqa: F401
import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose
from streamlit.file_util import get_static_dir

from dashboard.components import page_head, plan_forms, planner_name, widgets
from dashboard.server import first_page

INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
OWN_SCRIPTS = (
    planner_name.SCRIPT, page_head.SCRIPT, page_head.FOCUS, plan_forms.KEYBOARD, widgets.MISSING_ENTRY,
)  # fmt: skip
POLICY_VIOLATION = 1008  # close code of a refused web socket
STATIC = Path(get_static_dir())
STATIC_FILES = {
    f"/{path.relative_to(STATIC).as_posix()}": path
    for path in (STATIC / "static").rglob("*.*")
}
"""Streamlit's scripts, styles and fonts by address; a name holds a hash of the content."""
IMMUTABLE = {"Cache-Control": "public, immutable, max-age=31536000"}


def content_security_policy(document: str) -> str:
    """The policy that allows a page's own inline scripts, by hash, and forbids framing it."""
    scripts = [*INLINE_SCRIPT.findall(document), *OWN_SCRIPTS]
    digests = [hashlib.sha256(text.encode()).digest() for text in scripts]
    hashes = " ".join(f"'sha256-{base64.b64encode(d).decode()}'" for d in digests)
    return (
        f"default-src 'self'; script-src 'self' {hashes}; "
        # Streamlit and Altair write their styles while they draw.
        "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
        "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )


def is_foreign(headers: Headers) -> bool:
    """Whether the Origin header names another host or port; only browsers send one."""
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != headers.get("host")


def static_file(scope: Scope) -> Response | None:
    """The response with one of `STATIC_FILES`; None for any other request.

    The file is read directly: Starlette would pass it through four other threads.
    """
    path = STATIC_FILES.get(scope.get("path", ""))
    if path is None or scope.get("method") != "GET":
        return None
    media_type, _ = mimetypes.guess_type(path.name)
    return Response(path.read_bytes(), headers=IMMUTABLE, media_type=media_type)


class Guard:
    """Middleware that adds security headers and refuses foreign web sockets."""

    def __init__(self, app: ASGIApp, policy: str) -> None:
        """Wraps an application; `policy` is from `content_security_policy`."""
        self._app = app
        self._headers = {
            "Content-Security-Policy": policy,
            "X-Frame-Options": "DENY",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "same-origin",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] == "websocket" and is_foreign(Headers(scope=scope)):
            # Streamlit's own check first queries an outside service for this machine's address.
            await WebSocketClose(POLICY_VIOLATION)(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        app = static_file(scope) or self._app
        await app(scope, receive, send_with_headers)


def redirect_to_depots(request: Request) -> RedirectResponse:
    """Redirects `/depots`, as the page is named, to its address."""
    return RedirectResponse(f"depot?{request.url.query}".rstrip("?"))


INDEX = (STATIC / "index.html").read_text(encoding="utf-8")
app = st.App(
    Path(__file__).parents[1] / "app.py",
    routes=[
        Route(first_page.PATH, first_page.answer),
        Route("/depots", redirect_to_depots),
    ],
    middleware=[Middleware(Guard, policy=content_security_policy(INDEX))],
)
