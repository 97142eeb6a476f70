"""The ASGI application: Streamlit, with security headers and a check of web socket origins."""

import base64
import hashlib
import re
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose
from streamlit.file_util import get_static_dir

from dashboard.components import name_cookie

INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
POLICY_VIOLATION = 1008
"""Close code of a refused web socket."""


def content_security_policy(document: str) -> str:
    """The policy that lets a page run its own inline scripts, by hash, and nobody frame it."""
    scripts = [*INLINE_SCRIPT.findall(document), name_cookie.SCRIPT]
    digests = [hashlib.sha256(text.encode()).digest() for text in scripts]
    hashes = " ".join(f"'sha256-{base64.b64encode(d).decode()}'" for d in digests)
    return (
        f"default-src 'self'; script-src 'self' {hashes}; "
        # Streamlit and Altair write their styles while they draw.
        "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "font-src 'self' data:; object-src 'none'; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'"
    )


def is_foreign(headers: Headers) -> bool:
    """Whether the Origin header names another host or port; only browsers send one."""
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != headers.get("host")


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
            # Streamlit would first ask an outside address for this machine's own.
            await WebSocketClose(POLICY_VIOLATION)(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        await self._app(scope, receive, send_with_headers)


INDEX = Path(get_static_dir(), "index.html").read_text(encoding="utf-8")
app = st.App(
    Path(__file__).parents[1] / "app.py",
    middleware=[Middleware(Guard, policy=content_security_policy(INDEX))],
)
