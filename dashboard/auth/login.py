"""Who may see the pages, where a login is set: the rule alone.

`login.toml` in HARBOR_HOME has two parts: `[auth]` as Streamlit's `st.login` takes it,
and `[allow]`, which names who of those that can log in may come in.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from forecaster.errors import ConfigError

FILE = "login.toml"
NEEDED = ("redirect_uri", "cookie_secret", "client_id", "client_secret",
          "server_metadata_url")  # fmt: skip
LISTS = ("emails", "domains", "values")
LEAST_SECRET = 32
"""Characters of cookie_secret: whoever guesses it can sign a login of their own."""
OPEN_TO_OTHERS = 0o027
"""Bits of a file's mode that let other accounts read it, or the group write it."""
UNPROVEN = frozenset({"email", "name", "nickname", "preferred_username"})
"""Claims that people may choose for themselves at some providers."""


@dataclass(frozen=True)
class Rule:
    """Whom a login lets in: any of the three is enough.

    Attributes:
      emails: Addresses, in lower case; they count if the provider has verified them.
      domains: What follows the @ of such an address, in lower case.
      claim: A claim of the provider's, such as 'groups'; None to look at none.
      values: Of that claim; one of them lets in.
    """

    emails: frozenset[str]
    domains: frozenset[str]
    claim: str | None
    values: frozenset[str]

    def refusal(self, claims: Mapping[str, Any], now: datetime) -> str | None:
        """Why somebody who has logged in may not come in; None if they may.

        Args:
          claims: What the provider says of them.
          now: With a time zone.
        """
        if has_expired(claims, now):
            return "Your login has expired. Log in again to see these pages."
        if self._names(claims) or self._has_claim(claims):
            return None
        return (
            "You have logged in, but you are not among those who may see these pages. "
            "Ask whoever runs them to add you, or log in as somebody else."
        )

    def _names(self, claims: Mapping[str, Any]) -> bool:
        email = str(claims.get("email") or "").strip().lower()
        # Whoever may type any address at the provider must not come in by it. Some say
        # nothing of whether they looked, or say it as a text, "false" included.
        if email.count("@") != 1 or claims.get("email_verified") is not True:
            return False
        return email in self.emails or email.rsplit("@", 1)[1] in self.domains

    def _has_claim(self, claims: Mapping[str, Any]) -> bool:
        if self.claim is None:
            return False
        said = claims.get(self.claim)
        every = said if isinstance(said, list | tuple) else [said]
        return any(isinstance(one, str) and one in self.values for one in every)


def rule(home: Path) -> Rule | None:
    """The rule of an installation; None where no login is set.

    Args:
      home: HARBOR_HOME.

    Raises:
      ConfigError: the file cannot be read, is open to other accounts, is not whole, has
        a cookie_secret that could be guessed, or lets nobody in.
    """
    path = home / FILE
    if not path.is_file():
        return None
    said = _read(path)
    _require_whole(path, _part(said, "auth"))
    return _allowed(path, _part(said, "allow"))


def _read(path: Path) -> dict[str, Any]:
    try:
        mode = path.stat().st_mode & 0o777
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{path.name} cannot be read ({type(error).__name__}), so nobody is let "
            "in. Correct it, or remove it to serve this machine only."
        ) from None
    if mode & OPEN_TO_OTHERS:
        raise ConfigError(
            f"{path.name} has mode {mode:04o}, but it holds secrets that no other account "
            f"may read, so nobody is let in. Close it with 'chmod 600 {path.name}', and "
            "replace its secrets if other people use this machine."
        )
    return said


def _require_whole(path: Path, auth: Mapping[str, Any]) -> None:
    missing = [name for name in NEEDED if not auth.get(name)]
    if missing:
        raise ConfigError(
            f"{path.name} has no {', '.join(missing)} under [auth], and a login needs "
            "each of them. Add what your provider gave you."
        )
    length = len(str(auth["cookie_secret"]))
    if length < LEAST_SECRET:
        raise ConfigError(
            f"cookie_secret in {path.name} has {length} characters, but with fewer than "
            f"{LEAST_SECRET} it could be guessed, so nobody is let in. Make one with "
            "'python3 -c \"import secrets; print(secrets.token_urlsafe(32))\"'."
        )


def _allowed(path: Path, allow: Mapping[str, Any]) -> Rule:
    lists = {name: allow.get(name, []) for name in LISTS}
    wrong = [name for name, each in lists.items() if not _are_words(each)]
    if wrong or not any(lists.values()):
        raise ConfigError(
            f"{path.name} has no list of words under [allow] for {' and '.join(wrong)}"
            f"{'emails, domains or values' if not wrong else ''}, so nobody is let in. "
            'Write for example domains = ["example.com"].'
        )
    claim = allow.get("claim") if isinstance(allow.get("claim"), str) else None
    if claim in UNPROVEN:
        raise ConfigError(
            f"{path.name} lets people in by the claim {claim!r}, which they may choose for "
            "themselves, so nobody is let in. Use emails or domains, which count verified "
            "addresses alone, or a claim such as 'groups' that the provider's "
            "administrators set."
        )
    return Rule(
        emails=frozenset(word.strip().lower() for word in lists["emails"]),
        domains=frozenset(
            word.strip().lower().lstrip("@") for word in lists["domains"]
        ),
        claim=claim,
        values=frozenset(lists["values"]),
    )


def has_expired(claims: Mapping[str, Any], now: datetime) -> bool:
    """Whether a login has outlived its token, which Streamlit's cookie does by a month.

    Args:
      claims: What the provider says of somebody.
      now: With a time zone.
    """
    ends = claims.get("exp")
    if not isinstance(ends, int | float):
        return True
    return datetime.fromtimestamp(ends, UTC) <= now


def _part(said: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = said.get(name)
    return found if isinstance(found, Mapping) else {}


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, str) and one for one in value
    )
