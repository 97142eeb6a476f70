"""Settings of monitoring: alert thresholds, the dashboard probe, and notification channels."""

from typing import Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings

from pipelines.settings.wall_clock import WallClock

SmtpTls = Literal["starttls", "tls", "none"]


class WatchSettings(BaseSettings):
    """A part of `Settings`, which reads the environment."""

    ready_by: WallClock | None = Field(
        default=None,
        description="When the forecast must be ready, in `timezone`; default: half an hour "
        "after `nightly_at`.",
    )
    alert_no_run_hours: float = Field(
        default=26,
        gt=0,
        description="Hours after the last completed nightly run until a notice is sent.",
    )
    alert_days_worse_than_naive: int = Field(
        default=7,
        ge=1,
        description="Consecutive days worse than the seasonal naive until the night alerts.",
    )
    alert_coverage_low: float = Field(
        default=0.70,
        ge=0,
        le=1,
        description="Lowest share of actuals in the 80 % interval over four weeks.",
    )
    alert_coverage_high: float = Field(
        default=0.90,
        ge=0,
        le=1,
        description="Highest share of actuals in the 80 % interval over four weeks.",
    )
    watch_dashboard: str = Field(
        default="http://127.0.0.1:8501",
        description="Dashboard that is probed once a minute; empty: none.",
    )
    notice_webhook: SecretStr | None = Field(
        default=None, description="URL that notices are posted to, as JSON."
    )
    notice_smtp_host: str | None = Field(
        default=None, description="Mail server that sends notices."
    )
    notice_smtp_port: int = Field(default=587, ge=1, le=65535)
    notice_smtp_tls: SmtpTls = Field(
        default="starttls",
        description="Encryption of the connection to the mail server.",
    )
    notice_smtp_user: str | None = Field(default=None)
    notice_smtp_password: SecretStr | None = Field(default=None)
    notice_smtp_from: str = Field(default="harbor-fleet@localhost")
    notice_smtp_to: str | None = Field(
        default=None, description="Recipients of notices by mail, separated by commas."
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
