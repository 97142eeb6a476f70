"""The settings, one frozen object: from HARBOR_* in the environment, or from harbor.toml."""

import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import platformdirs
from pydantic import (
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from forecaster.errors import ConfigError
from pipelines.settings.field_types import MAX_DAYS
from pipelines.settings.ingest import IngestSettings
from pipelines.settings.monitoring import WatchSettings
from pipelines.settings.names import PREFIX, nearest
from pipelines.settings.nightly import NightSettings
from pipelines.settings.secret_files import SUFFIX, read_secret_files, secret_names
from pipelines.settings.training import TrainingSettings

CHECKOUT = Path(__file__).resolve().parents[2]

LOG_JSON = "HARBOR_LOG_JSON"


def default_home() -> Path:
    """`var/` beside pyproject.toml in a checkout, the user's data directory elsewhere.

    Never the current directory: the same command must find the same data from anywhere.
    """
    if (CHECKOUT / "pyproject.toml").is_file():
        return CHECKOUT / "var"
    return Path(platformdirs.user_data_dir("harbor-fleet", appauthor=False))


def xla_flags() -> str:
    """The compiler flags that the environment sets for JAX."""
    return os.environ.get("XLA_FLAGS", "")


def child_environment(**variables: str) -> dict[str, str]:
    """Environment of a child process: this one's, with some variables set."""
    return {**os.environ, **variables}


def use_one_blas_thread() -> None:
    """Limits NumPy's matrix products to one thread each, unless the environment sets a number.

    A forecast already uses a thread per core for its depots; more threads per product would wait
    for each other: 120 depots took 0.05 s of processor time with one thread per product, and 0.2 to
    0.8 s with two on busy cores (2026-11-22). Must run before NumPy is imported.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def logs_as_json() -> bool:
    """Whether log lines are JSON; read before the other settings, and never invalid."""
    return os.environ.get(LOG_JSON, "").lower() in {"1", "true", "yes"}


class Settings(NightSettings, IngestSettings, WatchSettings, TrainingSettings):
    """The settings of an installation."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, toml_file="harbor.toml", frozen=True, extra="ignore"
    )

    home: Path = Field(
        default_factory=default_home,
        description="Holds the embedded database, artefacts, checkpoints and inbox.",
    )
    # Declared before the URLs, whose validator inserts it.
    database_password: SecretStr | None = Field(
        default=None,
        description="Password of the user in database_url and replica_url, where a URL "
        "has none.",
    )
    database_url: SecretStr | None = Field(
        default=None,
        description="URL of your own Postgres; without one, the embedded Postgres is used.",
    )
    replica_url: SecretStr | None = Field(
        default=None,
        description="A streaming replica of that Postgres, for the reads of the dashboard.",
    )
    writer_password: SecretStr | None = Field(
        default=None,
        description="Password of the role harbor_writer, set by 'harbor db upgrade' or 'db roles'.",
    )
    dashboard_password: SecretStr | None = Field(
        default=None,
        description="Password of the role harbor_dashboard, set in the same way.",
    )
    keep_orders_days: int | None = Field(
        default=None,
        ge=35,
        le=MAX_DAYS,
        description="Days that orders are kept; all if not set. Demand is always kept.",
    )
    keep_forecasts_days: int | None = Field(
        default=None,
        ge=365,
        le=MAX_DAYS,
        description="Days that forecasts and scores are kept; all if not set.",
    )
    keep_artefacts_days: int = Field(
        default=90,
        ge=7,
        le=MAX_DAYS,
        description="Days that a model's artefact is kept once nothing needs it.",
    )

    @field_validator("*", mode="before")
    @classmethod
    def _unset_if_empty(cls, value: Any, info: ValidationInfo) -> Any:
        """An empty variable unsets a setting without a default; an empty home is the default one."""
        if value != "":
            return value
        if info.field_name == "home":
            return default_home()
        if info.field_name == "database_url":
            raise ValueError(
                "is empty; give a URL, or unset it for the embedded Postgres"
            )
        return None if cls.model_fields[str(info.field_name)].default is None else value

    @field_validator("home")
    @classmethod
    def _absolute(cls, home: Path) -> Path:
        try:
            home = home.expanduser().resolve()
        except RuntimeError:
            raise ValueError("names a user that this machine does not have") from None
        nearest = next(path for path in (home, *home.parents) if path.exists())
        if not nearest.is_dir():
            raise ValueError(
                f"{nearest} is not a folder; name one, or a place for a new one"
            )
        return home

    @field_validator("database_url", "replica_url")
    @classmethod
    def _with_password(
        cls, url: SecretStr | None, info: ValidationInfo
    ) -> SecretStr | None:
        password = info.data.get("database_password")
        if url is None or password is None:
            return url
        quoted = quote(password.get_secret_value(), safe="")
        user = r"^([\w+]+://[^:/@]+)@"
        return SecretStr(
            re.sub(user, lambda match: f"{match[1]}:{quoted}@", url.get_secret_value())
        )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - not read here
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Ranks arguments above the environment, and the environment above harbor.toml."""
        toml = TomlConfigSettingsSource(settings_cls)
        assert isinstance(env_settings, EnvSettingsSource)
        env_secrets = read_secret_files(settings_cls, env_settings.env_vars, "harbor_")
        toml_secrets = read_secret_files(settings_cls, toml.toml_data)
        return (
            init_settings,
            # Above the environment, where the same secret is absent or empty.
            InitSettingsSource(settings_cls, env_secrets),
            env_settings,
            file_secret_settings,
            InitSettingsSource(settings_cls, toml_secrets),
            toml,
        )

    @classmethod
    def load(cls) -> Self:
        """Reads the environment and harbor.toml.

        Raises:
          ConfigError: a value breaks its rule, or a name is mistyped; all are listed.
        """
        cls._require_valid_names()
        try:
            return cls()
        except SettingsError as error:
            # Of all settings, only `sources` is read as JSON.
            raise ConfigError(
                f"HARBOR_SOURCES is not JSON: {error.__cause__}. Correct it, or write "
                "[sources.NAME] in harbor.toml."
            ) from None
        except ValidationError as error:
            secret = secret_names(cls)
            messages = [_message(detail, secret) for detail in error.errors()]
            raise ConfigError(
                f"{'; '.join(messages)}. Correct it in the environment or in harbor.toml."
            ) from None

    @classmethod
    def _require_valid_names(cls) -> None:
        """Rejects mistyped names, which would be ignored otherwise."""
        fields = {*cls.model_fields, *(name + SUFFIX for name in secret_names(cls))}
        prefix = PREFIX.lower()
        messages = []
        for name in sorted(os.environ):
            own = name.lower().removeprefix(prefix)
            is_ours = name.lower().startswith(prefix) and name != LOG_JSON
            if is_ours and own not in fields and (meant := nearest(own, fields)):
                messages.append(
                    f"{name} is set in the environment, but is no setting; "
                    f"{PREFIX}{meant.upper()} is"
                )
        for name in cls._harbor_toml():
            if name not in fields:
                # The prefix belongs to environment variables only.
                meant = nearest(name.lower().removeprefix(prefix), fields)
                advice = f"; {meant!r} is" if meant else ""
                messages.append(
                    f"harbor.toml has {name!r}, but that is no setting{advice}"
                )
        if messages:
            raise ConfigError(f"{'. '.join(messages)}. Rename or remove it.")

    @classmethod
    def _harbor_toml(cls) -> dict[str, Any]:
        """Returns the content of harbor.toml; empty if there is none."""
        try:
            return TomlConfigSettingsSource(cls).toml_data
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ConfigError(
                f"harbor.toml in {Path.cwd()} cannot be read: {reason}. Correct it, "
                "or work in a folder that this account may enter."
            ) from None

    @property
    def artefacts(self) -> Path:
        """Folder of exported models."""
        return self.home / "artefacts"

    @property
    def checkpoints(self) -> Path:
        """Folder of training checkpoints."""
        return self.home / "checkpoints"

    @property
    def compiled(self) -> Path:
        """Folder of JAX's compilation cache."""
        return self.home / "compiled"

    @property
    def inbox(self) -> Path:
        """Folder from which the nightly run loads files, with links followed."""
        return Path(os.path.realpath(self.home / "inbox"))


def _message(error: ErrorDetails, secret: Collection[str]) -> str:
    """Returns the message on an invalid setting, without the value of a secret."""
    name = "_".join(str(part) for part in error["loc"])
    rule = error["msg"].removeprefix("Value error, ")
    if not name:  # The rule concerns several settings.
        return rule
    value = "***" if name in secret else repr(error.get("input"))
    return f"HARBOR_{name.upper()} is {value}: {rule}"
