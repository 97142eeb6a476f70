"""Posts a JSON message to webhooks: a forecast was published."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from http.client import HTTPException, responses
from typing import Any

import structlog

from forecaster.errors import ConfigError
from pipelines.settings import Settings

log = structlog.get_logger()

TIMEOUT_S = 10
PAUSES_S = (1.0, 5.0)
"""Pauses before the second and the third attempt."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: after one, urllib would send a GET without the message."""

    def redirect_request(self, *_: Any) -> None:
        """Follows none, so that the status is an error."""


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
        request = urllib.request.Request(  # noqa: S310 - http and https only, see `webhooks_of`
            address,
            data=json.dumps(message).encode(),
            headers={"Content-Type": "application/json", "User-Agent": "harbor-fleet"},
        )
        opener = urllib.request.build_opener(_NoRedirect)
        with opener.open(request, timeout=TIMEOUT_S):
            return None
    except urllib.error.HTTPError as error:
        return f"{error.code} {responses.get(error.code, '')}".strip()
    except urllib.error.URLError as error:
        return str(getattr(error.reason, "strerror", None) or error.reason)
    except OSError as error:
        return str(error.strerror or error)
    except HTTPException as error:
        # Its text may contain the address.
        return f"no HTTP answer ({type(error).__name__})"
    except ValueError:
        # Not ASCII, or no host: the error's text contains parts of the address.
        return "no valid address"
