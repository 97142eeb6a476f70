"""Secret settings from files: HARBOR_DATABASE_URL_FILE is the path of a file with that URL.

Compose, Kubernetes and systemd hand secrets over as files: unlike the environment, a file
has a mode, and no child process inherits it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import SecretStr
from pydantic_settings import BaseSettings

from forecaster.errors import ConfigError

SUFFIX = "_file"
MAX_CHARACTERS = 8192
"""Maximum length of a secret; a longer file was named by mistake."""


def secret_names(settings: type[BaseSettings]) -> frozenset[str]:
    """Returns the settings whose value must not be shown: those typed as a SecretStr."""
    return frozenset(
        name
        for name, field in settings.model_fields.items()
        if SecretStr in (field.annotation, *get_args(field.annotation))
    )


def read_secret_files(
    settings: type[BaseSettings], values: Mapping[str, Any], prefix: str = ""
) -> dict[str, str]:
    """Reads every secret for which the environment or harbor.toml names a file.

    Raises:
      ConfigError: a secret and its file are both given, or the file holds no secret.
    """
    secrets = {}
    for name in sorted(secret_names(settings)):
        setting = f"HARBOR_{name}{SUFFIX}".upper()
        path = values.get(prefix + name + SUFFIX)
        if not path:
            continue
        if values.get(prefix + name):
            raise ConfigError(
                f"{setting.removesuffix(SUFFIX.upper())} and {setting} are both given, "
                "but only one of them can apply. Remove one."
            )
        secrets[name] = _read(Path(path), setting)
    return secrets


def _read(path: Path, setting: str) -> str:
    try:
        with path.open() as file:
            text = file.read(MAX_CHARACTERS + 1).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise ConfigError(
            f"{setting} is {path}, which cannot be read: {reason}. Name a file that "
            "holds the secret and that this user may read."
        ) from None
    if not text or len(text) > MAX_CHARACTERS or "\n" in text:
        raise ConfigError(
            f"{setting} is {path}, which does not hold one line of at most "
            f"{MAX_CHARACTERS} characters. Name a file that holds only the secret."
        )
    return text
