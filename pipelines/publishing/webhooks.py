"""Posts a JSON message to webhooks: a forecast was published."""

import time
from collections.abc import Mapping, Sequence
from http.client import responses
from typing import Any

import requests
import structlog

from forecaster.errors import ConfigError
from pipelines.settings import Settings

log = structlog.get_logger()

TIMEOUT_S = 10
PAUSES_S = (1.0, 5.0)
"""Pauses before the second and the third attempt."""


def webhooks_of(settings: Settings) -> list[str]:
    """The addresses that HARBOR_PUBLISH_WEBHOOKS names; empty where it is not set.

    Raises:
      ConfigError: an address does not begin with http:// or https://.
    """
    urls = settings.publish_webhooks
    addresses = urls.get_secret_value().split() if urls else []
    for number, address in enumerate(addresses, start=1):
        if not address.startswith(("http://", "https://")):
            raise ConfigError(
                f"Address {number} of HARBOR_PUBLISH_WEBHOOKS does not begin with http:// or "
                "https://. Correct it."
            )
    return addresses


def post(addresses: Sequence[str], message: Mapping[str, Any]) -> list[str]:
    """Posts a message to every address, each up to three times.

    Returns:
      A sentence for each address that did not accept the message. It gives the address's
      number, because the address itself may contain a secret.
    """
    failures = []
    for number, address in enumerate(addresses, start=1):
        reason = _post_once(address, message)
        for pause in PAUSES_S:
            if reason is None:
                break
            log.warning("webhook_failed", address=number, reason=reason)
            time.sleep(pause)
            reason = _post_once(address, message)
        if reason is not None:
            failures.append(
                f"Address {number} of HARBOR_PUBLISH_WEBHOOKS did not accept it: {reason}."
            )
    return failures


def _post_once(address: str, message: Mapping[str, Any]) -> str | None:
    """Posts a message; returns why it was not accepted, or None."""
    try:
        # After a redirect, the message would not be sent again. The answer is not read.
        with requests.post(
            address, json=message, headers={"User-Agent": "harbor-fleet"},
            timeout=TIMEOUT_S, allow_redirects=False, stream=True,
        ) as answer:  # fmt: skip
            status = answer.status_code
    except ValueError:
        # Not valid: the error's text contains parts of the address.
        return "no valid address"
    except requests.RequestException as error:
        return _cause(error)
    return None if status < 300 else f"{status} {responses.get(status, '')}".strip()


def _cause(error: BaseException) -> str:
    """Returns the first cause of an error: the text of the others contains the address."""
    while error.__context__ is not None:
        error = error.__context__
    if isinstance(error, OSError):
        return str(error.strerror or error)
    return f"no HTTP answer ({type(error).__name__})"
