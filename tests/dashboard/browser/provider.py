"""An identity provider of OpenID Connect, small and strict, for the login in a browser.

It keeps to what `st.login` asks of one: discovery, a page on which a person chooses who
they are, a code for a token signed by RS256, with the nonce and the proof of the
challenge (S256) checked, and the keys to check the signature by.
"""

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT_ID, CLIENT_SECRET = "harbor", "a secret between the two"
KEY_BITS = 2048


@dataclass(frozen=True)
class Person:
    """Somebody with an account.

    Attributes:
      email: By which the page offers them.
      name: As the token has it.
      verified: What the token says of their address; None to say nothing.
      lasts_s: Seconds until their token expires; below zero it has expired already.
    """

    email: str
    name: str
    verified: bool | str | None = True
    lasts_s: int = 3600


@dataclass
class Provider:
    """State of the provider: its users, its key, and the codes it has issued."""

    people: Mapping[str, Person]
    address: str = ""
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(KEY_BITS))
    codes: dict[str, tuple[Person, dict[str, str]]] = field(default_factory=dict)

    def discovery(self) -> dict[str, Any]:
        """The discovery document."""
        return {
            "issuer": self.address,
            "authorization_endpoint": f"{self.address}/authorize",
            "token_endpoint": f"{self.address}/token",
            "jwks_uri": f"{self.address}/jwks",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
        }

    def keys(self) -> dict[str, Any]:
        """Public keys with which its signatures are verified."""
        public = self.key.as_dict(private=False)
        return {"keys": [public | {"kid": self.key.thumbprint(), "use": "sig"}]}

    def choice(self, request: dict[str, str]) -> str:
        """The login page: one link per user, each with a code."""
        assert request["client_id"] == CLIENT_ID
        assert request["response_type"] == "code"
        assert request["code_challenge_method"] == "S256"
        links = []
        for email, person in self.people.items():
            code = secrets.token_urlsafe()
            self.codes[code] = (person, request)
            back = urlencode({"code": code, "state": request["state"]})
            href = escape(f"{request['redirect_uri']}?{back}")
            links.append(f'<p><a href="{href}">{escape(email)}</a></p>')
        return f"<!doctype html><title>Who are you?</title>{''.join(links)}"

    def token(self, sent: dict[str, str], authorization: str) -> dict[str, Any]:
        """Exchanges a code for tokens, once."""
        credentials = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        assert authorization == f"Basic {credentials}"
        person, request = self.codes.pop(sent["code"])
        assert sent["redirect_uri"] == request["redirect_uri"]
        digest = hashlib.sha256(sent["code_verifier"].encode()).digest()
        proof = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        assert proof == request["code_challenge"]
        return {
            "access_token": secrets.token_urlsafe(),
            "token_type": "Bearer",
            "id_token": self._signed(person, request["nonce"]),
        }

    def _signed(self, person: Person, nonce: str) -> str:
        now = int(time.time())
        claims = {
            "iss": self.address, "aud": CLIENT_ID, "sub": person.email, "nonce": nonce,
            "iat": now - 60, "exp": now + person.lasts_s, "name": person.name,
            "email": person.email,
        }  # fmt: skip
        if person.verified is not None:
            claims["email_verified"] = person.verified
        header = {"alg": "RS256", "kid": self.key.thumbprint()}
        return jwt.encode(header, claims, self.key)


@contextmanager
def providing(*people: Person) -> Iterator[Provider]:
    """A provider that answers on this machine until the block ends."""
    provider = Provider({person.email: person for person in people})
    server = ThreadingHTTPServer(("127.0.0.1", 0), _door_of(provider))
    provider.address = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _door_of(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            request = urlsplit(self.path)
            match request.path:
                case "/.well-known/openid-configuration":
                    self._answer(json.dumps(provider.discovery()))
                case "/jwks":
                    self._answer(json.dumps(provider.keys()))
                case "/authorize":
                    page = provider.choice(dict(parse_qsl(request.query)))
                    self._answer(page, "text/html")
                case _:
                    self.send_response(204)
                    self.end_headers()

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            sent = dict(parse_qsl(self.rfile.read(length).decode()))
            token = provider.token(sent, self.headers["Authorization"])
            self._answer(json.dumps(token))

        def _answer(self, text: str, kind: str = "application/json") -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    return Door
