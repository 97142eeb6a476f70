"""What those who watch are told: what is late or wrong, who is told of it, and how."""

from typing import Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings

from pipelines.settings.wall_clock import WallClock

SmtpTls = Literal["starttls", "tls", "none"]


class WatchSettings(BaseSettings):
    """A part of `Settings`, which reads the environment."""

    ready_by: WallClock | None = Field(
        default=None,
        description="When the forecast must be there, in `timezone`; half an hour after "
        "`nightly_at` without it.",
    )
    silence_hours: float = Field(
        default=26,
        gt=0,
        description="So long after the last night that was done, silence is told of.",
    )
    alarm_worse_days: int = Field(
        default=7,
        ge=1,
        description="Days in a row on which the seasonal naive beats the forecasts shown.",
    )
    alarm_coverage_low: float = Field(
        default=0.70,
        ge=0,
        le=1,
        description="Least share of actuals in the 80 % band over four weeks.",
    )
    alarm_coverage_high: float = Field(
        default=0.90,
        ge=0,
        le=1,
        description="Greatest share of actuals in the 80 % band over four weeks.",
    )
    watch_dashboard: str = Field(
        default="http://127.0.0.1:8501",
        description="The dashboard that the watch asks once a minute; empty: none.",
    )
    notice_webhook: SecretStr | None = Field(
        default=None, description="Address that notices are posted to, as JSON."
    )
    notice_smtp_host: str | None = Field(
        default=None, description="Mail server that notices go through."
    )
    notice_smtp_port: int = Field(default=587, ge=1, le=65535)
    notice_smtp_tls: SmtpTls = Field(
        default="starttls", description="How the way to the mail server is secured."
    )
    notice_smtp_user: str | None = Field(default=None)
    notice_smtp_password: SecretStr | None = Field(default=None)
    notice_smtp_from: str = Field(default="harbor-fleet@localhost")
    notice_smtp_to: str | None = Field(
        default=None, description="Who gets notices by mail; several with commas."
    )

    @field_validator("watch_dashboard")
    @classmethod
    def _web_address(cls, url: str) -> str:
        if url and not url.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://, or be empty")
        return url.rstrip("/")

    @model_validator(mode="after")
    def _somebody_gets_mail(self) -> Self:
        if self.notice_smtp_host and not self.notice_smtp_to:
            raise ValueError(
                "HARBOR_NOTICE_SMTP_HOST is set without HARBOR_NOTICE_SMTP_TO; say who "
                "gets the mail"
            )
        return self
