"""Settings of the nightly run and what it publishes; the days and times that follow from them."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from zoneinfo import ZoneInfo

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings

from pipelines.settings.countries import known_countries, known_zones
from pipelines.settings.days import newest_complete_day
from pipelines.settings.field_types import MAX_DAYS, WallClock

# Time after a night's start until its orders and forecast are expected.
NIGHT_ALLOWANCE = timedelta(hours=1)


class NightSettings(BaseSettings):
    """A part of `Settings`, which reads the environment."""

    timezone: str = Field(
        default="UTC",
        validate_default=False,  # looking it up takes longer than many commands
        description="The fleet's own zone: the nightly clock, and depots first seen "
        "in orders.",
    )
    country: str = Field(
        default="US",
        validate_default=False,
        description="ISO 3166 country of depots first seen in orders.",
    )
    nightly_at: WallClock = Field(
        default="04:30",
        description="When `harbor schedule run` starts the night, in `timezone`; once a day, "
        "even if a clock change skips or repeats that time. A timer or CronJob has its own "
        "start time, but pages and alerts assume this one.",
    )
    look_back_days: int = Field(
        default=400,
        ge=0,
        le=MAX_DAYS,
        description="Days before the newest day for which a night applies corrected counts.",
    )
    publish_url: SecretStr | None = Field(
        default=None,
        description="Folder or bucket (s3://, gs://, abfs://) to which each night publishes "
        "forecasts, totals and scores as Parquet; nothing is published if not set.",
    )
    publish_webhooks: SecretStr | None = Field(
        default=None,
        description="Addresses, separated by spaces, to which each published forecast is "
        "posted as JSON.",
    )

    @field_validator("timezone")
    @classmethod
    def _valid_zone(cls, name: str) -> str:
        if name not in known_zones():
            raise ValueError(
                "must be an IANA time zone such as Europe/Amsterdam; CET, EET, MET and WET are not accepted"
            )
        return name

    @field_validator("country")
    @classmethod
    def _valid_country(cls, code: str) -> str:
        if code.upper() not in known_countries():
            raise ValueError("must be an ISO 3166 country of two letters, such as NL")
        return code.upper()

    @cached_property
    def zone(self) -> ZoneInfo:
        """The fleet's own time zone."""
        return ZoneInfo(self.timezone)

    def night_on(self, day: date) -> datetime:
        """Returns the start of the night of a local day, in the fleet's time zone.

        A start time that a clock change skips moves forward by the change; if it occurs
        twice, the first is used. So every day has exactly one night.
        """
        local = datetime.combine(day, time.fromisoformat(self.nightly_at), self.zone)
        return local.astimezone(UTC).astimezone(self.zone)

    def next_night(self, now: datetime) -> datetime:
        """Returns the start of the next night, in the fleet's time zone."""
        today = now.astimezone(self.zone).date()
        nights = (self.night_on(today + timedelta(days=n)) for n in range(-1, 3))
        # In UTC: times in one zone compare by wall clock, which a clock change sets back.
        return next(night for night in nights if night.astimezone(UTC) >= now)

    def last_night(self, now: datetime) -> datetime:
        """Returns the time at which the newest night was due, in the fleet's time zone."""
        today = now.astimezone(self.zone).date()
        nights = (self.night_on(today - timedelta(days=n)) for n in range(-1, 3))
        return next(night for night in nights if night.astimezone(UTC) <= now)

    def origin_of(self, hour: datetime, zones: Mapping[str, int]) -> date:
        """Returns the origin of a night at `hour`: the newest day over at half the active depots.

        If `zones` is empty, the fleet's own zone decides.
        """
        return newest_complete_day(hour, zones or {self.timezone: 1})

    def due_on(self, now: datetime, zones: Mapping[str, int]) -> date:
        """Returns the newest day whose orders and forecast should be available by now.

        It is the origin of the last night due at least `NIGHT_ALLOWANCE` ago: mostly yesterday, or
        the day before if half of the depots lie so far west that yesterday was not over there.
        """
        return self.origin_of(self.last_night(now - NIGHT_ALLOWANCE), zones)
