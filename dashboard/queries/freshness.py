"""Freshness of data and forecast; the cache key of all queries."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import streamlit as st

from dashboard.queries.database import read_row, settings
from pipelines.planning.days_ahead import Shown
from pipelines.schema.active_depots import ACTIVE_ZONES
from pipelines.schema.depot_freshness import NEWEST_OPEN_DAY


@dataclass(frozen=True)
class Freshness:
    """State of the data on the pages; it changes whenever the data changes.

    Attributes:
      depots: Number of depots.
      last_on: Newest day with known demand of any depot.
      champion: Version of the champion.
      origin_on: Origin of the published forecast.
      until_on: Last day of that forecast.
      model: Version of the model that made it.
      filename: File name of that model's artefact.
      sha256: SHA-256 of that file.
      made_at: When the forecast was written, in UTC.
      run_changes: Number of runs and steps ever started, plus the number finished.
      planner_changes: Sum of the highest ids of overrides, settings and decisions.
      is_replica: Whether it was read from the replica, so that results of the replica and of
        the main database are cached separately.
      late_cities: Cities, and how many of their depots had not reported at forecast time.
      alarms: Alarms of the newest completed step `accuracy`.
      zones: Time zones, and the number of active depots in each.
      is_demo: Whether the fleet is the invented one of `harbor demo`.
      has_hours: Whether the forecast has hourly shares.
      day_began_at: The latest local midnight at any depot: no day has ended since.
    """

    depots: int
    last_on: date | None
    champion: str | None
    origin_on: date | None
    until_on: date | None
    model: str | None
    filename: str | None
    sha256: str | None
    made_at: datetime | None
    run_changes: int
    planner_changes: int = 0
    is_replica: bool = False
    late_cities: tuple[tuple[str, int], ...] = ()
    alarms: tuple[str, ...] = ()
    zones: tuple[tuple[str, int], ...] = ()
    is_demo: bool = False
    has_hours: bool = False
    day_began_at: datetime = datetime(2000, 1, 1, tzinfo=UTC)

    @property
    def origin(self) -> date:
        """Origin of the published forecast; requires one."""
        assert self.origin_on is not None, "requires a forecast"
        return self.origin_on

    @property
    def until(self) -> date:
        """Last day of the published forecast; requires one."""
        assert self.until_on is not None, "requires a forecast"
        return self.until_on

    @property
    def shown(self) -> Shown:
        """The argument of `planning.days_ahead` queries; requires a forecast and known demand."""
        assert self.last_on is not None, "requires known demand"
        return Shown(
            self.origin, self.until, str(self.model), self.last_on, self.day_began_at
        )

    @property
    def newest(self) -> date:
        """The later of the origin and the newest day with known demand; requires the latter."""
        assert self.last_on is not None, "requires known demand"
        return max(self.last_on, self.origin_on or self.last_on)


def zone() -> ZoneInfo:
    """The fleet's time zone."""
    return settings().zone


def due_on(now: datetime, freshness: Freshness) -> date:
    """The newest day whose orders, and a forecast from it, should be there by now.

    Days on which every depot was closed are passed over until the forecast itself is over.
    """
    due = settings().due_on(now, dict(freshness.zones))
    is_behind = min(freshness.last_on or due, freshness.origin_on or due) < due
    is_over = freshness.until_on is not None and freshness.until_on < now.date()
    if is_over or not is_behind:
        return due
    return read_row(NEWEST_OPEN_DAY, as_of=due)["day_on"] or due


FRESHNESS = f"""
select (select count(*) from depots) as depots,
       (select jsonb_object_agg(timezone, depots) from ({ACTIVE_ZONES}) active) as zones,
       (select max(service_on) from demand_versions
        where superseded_at is null and orders is not null) as last_on,
       champion.version as champion,
       shown.origin_on, shown.model_version,
       coalesce(made_by.finished_at, shown.published_at) as made_at,
       (select max(f.target_on) from forecasts f
        join (select * from forecasts
              where (origin_on, model_version) = (shown.origin_on, shown.model_version)
              limit 1) depot using (depot_id, origin_on, model_version)) as until_on,
       model.filename, model.sha256,
       (select count(*) + count(finished_at) from runs) as run_changes,
       coalesce((select max(override_id) from overrides), 0)
       + coalesce((select max(settings_id) from city_settings), 0)
       + coalesce((select max(decision_id) from van_decisions), 0) as planner_changes,
       pg_is_in_recovery() as is_replica,
       made_by.metrics -> 'late_cities' as late_cities,
       (select metrics -> 'alarms' from runs where step = 'accuracy' and state = 'done'
        order by run_id desc limit 1) as alarms,
       exists (select from demo_fleet) as is_demo,
       exists (select from hour_shares where origin_on = shown.origin_on) as has_hours,
       (select max(date_trunc('day', now(), timezone)) from depots) as day_began_at
from (select 1) as always
left join models champion on champion.role = 'champion'
left join shown_forecast shown on true
left join models model on model.version = shown.model_version
left join runs made_by on made_by.run_id = shown.run_id
"""


@st.cache_data(ttl=2, max_entries=1, show_spinner=False)
def freshness() -> Freshness:
    """Freshness of data and forecast; refreshed every two seconds."""
    row = read_row(FRESHNESS)
    return Freshness(
        model=row.pop("model_version"),
        late_cities=tuple((row.pop("late_cities") or {}).items()),
        alarms=tuple(row.pop("alarms") or ()),
        zones=tuple((row.pop("zones") or {}).items()),
        **row,
    )
