"""Settings of monitoring: alert thresholds, the dashboard probe, and where to notify."""

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings

from pipelines.settings.field_types import MAX_DAYS, MAX_VANS, WallClock

EXPECTED_COVERAGE = 0.8
"""Share of actuals inside a calibrated 80 % interval."""


class WatchSettings(BaseSettings):
    """A part of `Settings`, which reads the environment."""

    ready_by: WallClock | None = Field(
        default=None,
        description="When the forecast must be ready, in `timezone`; default: half an hour "
        "after `nightly_at`.",
    )
    alert_days_worse_than_naive: int = Field(
        default=7,
        ge=1,
        le=28,
        description="Consecutive days worse than the seasonal naive that raise an alarm at "
        "night; four weeks are checked.",
    )
    alert_coverage_low: float = Field(
        default=0.70,
        ge=0,
        le=EXPECTED_COVERAGE,
        description="Minimum share of actuals in the 80 % interval over four weeks.",
    )
    alert_coverage_high: float = Field(
        default=0.90,
        ge=EXPECTED_COVERAGE,
        le=1,
        description="Maximum share of actuals in the 80 % interval over four weeks.",
    )
    watch_dashboard: str = Field(
        default="http://127.0.0.1:8501",
        description="Dashboard that is probed once a minute; empty: none.",
    )
    notify_urls: SecretStr | None = Field(
        default=None,
        description="Apprise addresses, separated by spaces, to which 'harbor watch' reports "
        "that nightly runs fail or succeed again, and sends the morning message.",
    )
    message_short_vans: int = Field(
        default=1,
        ge=1,
        le=MAX_VANS,
        description="The morning message names a city that is short of this many vans on a day.",
    )
    message_days: int = Field(
        default=3,
        ge=0,
        le=MAX_DAYS,
        description="Days ahead that the morning message looks at; 0: none is sent.",
    )
    message_changed_percent: float = Field(
        default=20.0,
        ge=1,
        le=1000,
        description="The morning message names a city whose forecast of a day has changed by "
        "this percentage since the last one.",
    )
    dashboard_url: str = Field(
        default="",
        description="Address under which planners open the dashboard, for links in the "
        "morning message; empty: none.",
    )

    @field_validator("watch_dashboard", "dashboard_url")
    @classmethod
    def _web_address(cls, url: str) -> str:
        if url and not url.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://, or be empty")
        return url.rstrip("/")
