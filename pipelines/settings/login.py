"""Access to the pages: the rule in login.toml, and the addresses that need no login.

`login.toml` in HARBOR_HOME has two parts: `[auth]` as Streamlit's `st.login` takes it, and
`[allow]`, which lists the users that may see the pages.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from forecaster.errors import BadInputError, ConfigError

FILE = "login.toml"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Addresses that only this machine reaches."""
REQUIRED_SETTINGS = ("redirect_uri", "cookie_secret", "client_id", "client_secret",
          "server_metadata_url")  # fmt: skip
ALLOW_LISTS = ("emails", "domains", "values")
MIN_SECRET_LENGTH = 32
"""Minimum length of cookie_secret in characters; whoever guesses the secret can forge a login."""
FORBIDDEN_MODE_BITS = 0o027
"""Mode bits that let other accounts read login.toml, or the group write it."""
SELF_CHOSEN_CLAIMS = frozenset({"email", "name", "nickname", "preferred_username"})
"""Claims that users can set themselves at some providers, so they prove nothing."""


@dataclass(frozen=True)
class Rule:
    """The users that may see the pages; a match in any of the three lists is enough.

    Attributes:
      emails: Addresses, in lower case; they count if the provider has verified them.
      domains: Domains of verified addresses, in lower case.
      claim: Name of a provider claim, such as 'groups'; None for no claim check.
      values: Accepted values of that claim.
    """

    emails: frozenset[str]
    domains: frozenset[str]
    claim: str | None
    values: frozenset[str]

    def admits(self, claims: Mapping[str, Any]) -> bool:
        """Whether the rule admits the user with these provider claims."""
        email = str(claims.get("email") or "").strip().lower()
        # An unverified address proves nothing. Some providers omit the claim, or send it
        # as text, "false" included.
        is_listed = email in self.emails or email.partition("@")[2] in self.domains
        if is_listed and email.count("@") == 1 and claims.get("email_verified") is True:
            return True
        value = claims.get(self.claim) if self.claim else None
        values = value if isinstance(value, list | tuple) else [value]
        return any(isinstance(one, str) and one in self.values for one in values)


def has_expired(claims: Mapping[str, Any], now: datetime) -> bool:
    """Whether the login token has expired; Streamlit's cookie outlives it by a month."""
    expires_at = claims.get("exp")
    if not isinstance(expires_at, int | float):
        return True
    return datetime.fromtimestamp(expires_at, UTC) <= now


def read_rule(home: Path) -> Rule | None:
    """Reads the access rule from login.toml in HARBOR_HOME; None if there is no such file.

    Raises:
      ConfigError: the file cannot be read, is readable by other accounts, lacks a
        setting, has a short cookie_secret, or admits nobody.
    """
    settings = _read(home / FILE)
    if settings is None:
        return None
    auth, allow = settings.get("auth"), settings.get("allow")
    _require_complete(auth if isinstance(auth, dict) else {})
    return _parse_rule(allow)


def require_guard(address: str, home: Path, *, insecure: bool) -> None:
    """Refuses to serve other machines without a login, unless --insecure was given.

    Raises:
      BadInputError: other machines reach the address, and nothing guards it.
      ConfigError: login.toml is incomplete, or lets nobody in.
    """
    has_login = read_rule(home) is not None
    if address in LOOPBACK or insecure or has_login:
        return
    raise BadInputError(
        f"--address is {address}, which other machines reach, and no login is set. Set "
        f"one in {FILE} in HARBOR_HOME, leave the address at 127.0.0.1, or add "
        "--insecure if a proxy guards it."
    )


def _read(path: Path) -> dict[str, Any] | None:
    # A dangling link or a folder is an error below: somebody meant to set a login.
    if not (path.exists() or path.is_symlink()):
        return None
    try:
        mode = path.stat().st_mode & 0o777
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{FILE} cannot be read ({type(error).__name__}), so nobody is let "
            "in. Correct it, or remove it to serve this machine only."
        ) from None
    if mode & FORBIDDEN_MODE_BITS:
        raise ConfigError(
            f"{FILE} has mode {mode:04o}, but it holds secrets that no other account "
            f"may read, so nobody is let in. Close it with 'chmod 600 {FILE}', and "
            "replace its secrets if other people use this machine."
        )
    return settings


def _require_complete(auth: Mapping[str, Any]) -> None:
    missing = [name for name in REQUIRED_SETTINGS if not auth.get(name)]
    if missing:
        raise ConfigError(
            f"{FILE} has no {', '.join(missing)} under [auth], and a login needs "
            "each of them. Add what your provider gave you."
        )
    length = len(str(auth["cookie_secret"]))
    if length < MIN_SECRET_LENGTH:
        raise ConfigError(
            f"cookie_secret in {FILE} has {length} characters, but with fewer than "
            f"{MIN_SECRET_LENGTH} it could be guessed, so nobody is let in. Make one with "
            "'python3 -c \"import secrets; print(secrets.token_urlsafe(32))\"'."
        )


def _parse_rule(entries: object) -> Rule:
    allow = entries if isinstance(entries, dict) else {}
    lists = {name: allow.get(name, []) for name in ALLOW_LISTS}
    invalid = [name for name, words in lists.items() if not _is_text_list(words)]
    if invalid or not any(lists.values()):
        names = " and ".join(invalid) or "emails, domains or values"
        raise ConfigError(
            f"{FILE} has no list of words under [allow] for {names}, so nobody is let "
            'in. Write for example domains = ["example.com"].'
        )
    claim = allow.get("claim") if isinstance(allow.get("claim"), str) else None
    if claim in SELF_CHOSEN_CLAIMS:
        raise ConfigError(
            f"{FILE} lets people in by the claim {claim!r}, which they may choose for "
            "themselves, so nobody is let in. Use emails or domains, which count only "
            "verified addresses, or a claim such as 'groups' that the provider's "
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


def _is_text_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) and v for v in value)
