"""Security headers, and the check of web socket origins."""

import base64
import hashlib
import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
FOREIGN_ORIGIN = 1008
"""Code of a web socket that is closed for breaking a policy."""


def content_security_policy(document: str) -> str:
    """The policy that lets a page run its own scripts, and nobody frame it.

    Args:
      document: The page's HTML. Its inline scripts are allowed by their hashes.
    """
    hashes = " ".join(f"'{_sha256(text)}'" for text in INLINE_SCRIPT.findall(document))
    return "; ".join(
        [
            "default-src 'self'",
            f"script-src 'self' {hashes}",
            # Streamlit and Altair write their styles while they draw.
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        ]
    )


def _sha256(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


class Guard:
    """Middleware that adds security headers and refuses foreign web sockets."""

    def __init__(self, app: ASGIApp, policy: str) -> None:
        """Wraps an application.

        Args:
          app: What answers.
          policy: From `content_security_policy`.
        """
        self._app = app
        self._headers = {
            "Content-Security-Policy": policy,
            "X-Frame-Options": "DENY",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "same-origin",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] == "websocket" and is_foreign(Headers(scope=scope)):
            # Streamlit would first ask an outside address for this machine's own.
            await WebSocketClose(FOREIGN_ORIGIN)(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        await self._app(scope, receive, send_guarded)


def is_foreign(headers: Headers) -> bool:
    """Whether the Origin header names another host or port.

    Args:
      headers: Of the request. Programs that are no browser send no Origin.
    """
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != headers.get("host")
