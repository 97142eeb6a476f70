"""One frozen Settings, from HARBOR_* in the environment or from harbor.toml."""

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
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from forecaster.errors import ConfigError
from pipelines.settings.ingest import IngestSettings
from pipelines.settings.monitoring import WatchSettings
from pipelines.settings.names import PREFIX, mistyped, nearest
from pipelines.settings.nightly import NightSettings
from pipelines.settings.secret_files import SUFFIX, SecretFiles, secret_names
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
    """What the environment tells JAX's compiler; who sets it knows better than we do."""
    return os.environ.get("XLA_FLAGS", "")


def environment_of_a_look() -> dict[str, str]:
    """For a process that only looks what devices there are: it must not fill them."""
    return {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


def logs_as_json() -> bool:
    """Whether log lines are JSON; asked before any setting is read, and never wrong."""
    return os.environ.get(LOG_JSON, "").lower() in {"1", "true", "yes"}


class Settings(NightSettings, IngestSettings, WatchSettings, TrainingSettings):
    """What differs between one installation and the next."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, toml_file="harbor.toml", frozen=True, extra="ignore"
    )

    home: Path = Field(
        default_factory=default_home,
        description="Holds the embedded database, artefacts, checkpoints and inbox.",
    )
    # Before the URL, which takes it in.
    database_password: SecretStr | None = Field(
        default=None,
        description="Of the user that database_url names, where it has none itself.",
    )
    database_url: SecretStr | None = Field(
        default=None,
        description="A Postgres of your own; the embedded one where it is not given.",
    )
    writer_password: SecretStr | None = Field(
        default=None,
        description="Lets the role harbor_writer connect, from 'harbor db roles' on.",
    )
    reader_password: SecretStr | None = Field(
        default=None,
        description="Lets the role harbor_dashboard connect, in the same way.",
    )
    keep_orders_days: int | None = Field(
        default=None,
        ge=35,
        description="Days that orders are kept; demand is always. All of them without.",
    )
    keep_artefacts_days: int = Field(
        default=90,
        ge=7,
        le=36_500,
        description="Days that the artefact of a model is kept which is not shown any more.",
    )

    @field_validator("home")
    @classmethod
    def _absolute(cls, home: Path) -> Path:
        home = home.expanduser().resolve()
        there = next(place for place in (home, *home.parents) if place.exists())
        if not there.is_dir():
            raise ValueError(
                f"{there} is no folder; name one, or a place for a new one"
            )
        return home

    @field_validator("database_url")
    @classmethod
    def _with_password(
        cls, url: SecretStr | None, info: ValidationInfo
    ) -> SecretStr | None:
        password = info.data.get("database_password")
        if url is None or password is None:
            return url
        secret = quote(password.get_secret_value(), safe="")
        user = r"^(\w+://[^:/@]+)@"
        whole = re.sub(
            user, lambda found: f"{found[1]}:{secret}@", url.get_secret_value()
        )
        return SecretStr(whole)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - not read here
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments before the environment, the environment before harbor.toml."""
        toml = TomlConfigSettingsSource(settings_cls)
        assert isinstance(env_settings, EnvSettingsSource)
        named = SecretFiles(settings_cls, env_settings.env_vars, prefix="harbor_")
        of_toml = SecretFiles(settings_cls, toml.toml_data)
        return init_settings, env_settings, named, file_secret_settings, toml, of_toml

    @classmethod
    def load(cls) -> Self:
        """Reads the environment and harbor.toml.

        Raises:
          ConfigError: a value breaks its rule, or a name is mistyped; all are listed.
        """
        cls._require_known_names()
        try:
            return cls()
        except ValidationError as error:
            secret = secret_names(cls)
            wrong = "; ".join(_complaint(detail, secret) for detail in error.errors())
            of_source = all(
                detail["loc"][:1] == ("sources",) for detail in error.errors()
            )
            where = "" if of_source else "in the environment or "
            raise ConfigError(f"{wrong}. Correct it {where}in harbor.toml.") from None

    @classmethod
    def _require_known_names(cls) -> None:
        """Nothing that somebody wanted to set may be passed over in silence."""
        fields = {*cls.model_fields, *(name + SUFFIX for name in secret_names(cls))}
        known = [f"{PREFIX}{name.upper()}" for name in fields]
        meant = mistyped(os.environ, [*known, LOG_JSON])
        wrong = [
            f"{name} is set in the environment, but is no setting; {near} is"
            for name, near in meant.items()
        ]
        for name in cls._harbor_toml():
            if name not in fields:
                near = nearest(name, fields)
                like = f"; {near!r} is" if near else ""
                wrong.append(f"harbor.toml has {name!r}, but that is no setting{like}")
        if wrong:
            raise ConfigError(f"{'. '.join(wrong)}. Rename or remove it.")

    @classmethod
    def _harbor_toml(cls) -> dict[str, Any]:
        """What harbor.toml says; nothing where there is none."""
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
        """Folder of training states."""
        return self.home / "checkpoints"

    @property
    def compiled(self) -> Path:
        """Folder of what JAX has compiled."""
        return self.home / "compiled"

    @property
    def inbox(self) -> Path:
        """Folder the nightly run loads from."""
        return self.home / "inbox"


def _complaint(wrong: ErrorDetails, secret: Collection[str]) -> str:
    """One wrong setting by its name in the environment; never a secret's value."""
    name = "_".join(str(part) for part in wrong["loc"])
    said = wrong["msg"].removeprefix("Value error, ")
    if not name:  # about several at once, whose values are not told
        return said
    value = "***" if name in secret else repr(wrong.get("input"))
    if wrong["loc"][0] == "sources" and len(wrong["loc"]) > 2:
        source, key, *_ = wrong["loc"][1:]
        return f"[sources.{source}] has {key} = {value}: {said}"
    return f"HARBOR_{name.upper()} is {value}: {said}"
