"""Secret settings out of files: HARBOR_DATABASE_URL_FILE names the file of that URL.

A file is what Compose, Kubernetes and systemd hand a secret over in: unlike the
environment it has a mode, and no process below inherits it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from forecaster.errors import ConfigError

SUFFIX = "_file"
# No secret is so long; a file that is has been named by mistake.
MOST_CHARACTERS = 8192


def secret_names(settings: type[BaseSettings]) -> frozenset[str]:
    """The settings whose value nobody may see: those typed as a SecretStr."""
    fields = settings.model_fields.items()
    return frozenset(name for name, field in fields if _is_secret(field))


class SecretFiles(PydanticBaseSettingsSource):
    """Values of secret settings, each the text of the file named beside it."""

    def __init__(
        self,
        settings_cls: type[BaseSettings],
        given: Mapping[str, Any],
        prefix: str = "",
    ) -> None:
        """Reads no file yet.

        Args:
          settings_cls: Whose secrets.
          given: Names and values, in small letters: the environment, or harbor.toml.
          prefix: Of the names in it.
        """
        super().__init__(settings_cls)
        self._given, self._prefix = given, prefix

    def get_field_value(
        self,
        field: FieldInfo,
        field_name: str,
    ) -> tuple[str | None, str, bool]:
        """The secret of one setting; None where no file is named.

        Raises:
          ConfigError: both it and its file are given, or the file holds no secret.
        """
        name = self._prefix + field_name
        path = self._given.get(name + SUFFIX) if _is_secret(field) else None
        if not path:
            return None, field_name, False
        if self._given.get(name):
            raise ConfigError(
                f"{_shown(field_name)} and {_shown(field_name + SUFFIX)} are both given, "
                "but only one of them can hold. Take one away."
            )
        return _read(Path(path), _shown(field_name + SUFFIX)), field_name, False

    def __call__(self) -> dict[str, str]:
        """Every secret that a file is named for."""
        fields = self.settings_cls.model_fields.items()
        found = {name: self.get_field_value(field, name)[0] for name, field in fields}
        return {name: value for name, value in found.items() if value is not None}


def _read(path: Path, setting: str) -> str:
    try:
        with path.open() as file:
            text = file.read(MOST_CHARACTERS + 1).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise ConfigError(
            f"{setting} is {path}, which cannot be read: {reason}. Name a file that "
            "holds the secret and that this user may read."
        ) from None
    if not text or len(text) > MOST_CHARACTERS or "\n" in text:
        raise ConfigError(
            f"{setting} is {path}, which does not hold one line of at most "
            f"{MOST_CHARACTERS} characters. Name a file that holds the secret alone."
        )
    return text


def _is_secret(field: FieldInfo) -> bool:
    return SecretStr in (field.annotation, *get_args(field.annotation))


def _shown(name: str) -> str:
    return f"HARBOR_{name}".upper()
