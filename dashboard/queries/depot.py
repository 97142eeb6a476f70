"""Queries of one depot: status, days, past forecasts and model inputs."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

import pandas as pd
import streamlit as st

from dashboard.queries.database import read, read_row, snapshot
from dashboard.queries.freshness import Freshness
from dashboard.queries.scores import SCORED_DAYS
from forecaster.inference.cold_start import YOUNG_DAYS
from pipelines.planning.days_ahead import FORTNIGHT, TODAY, is_ahead, week_before
from pipelines.planning.tables import select
from pipelines.schema.closures import is_closed
from pipelines.schema.depot_freshness import DEPOT_FRESHNESS
from pipelines.schema.fragments import (
    CLOSURES,
    DAYS,
    DEPOT_NAMES,
    SAME_SIDE_OF,
    SPECIAL_OF,
)
from pipelines.schema.planned_orders import PLANNED_FORECASTS
from pipelines.schema.signals import SIGNAL_COLUMNS

HISTORY_DAYS = 396
"""Thirteen months, so that last year's Black Friday is included."""


@dataclass(frozen=True)
class DepotStatus:
    """Whether the data of one depot is complete.

    Attributes:
      last_on: Newest day with known demand; None if no demand is known.
      due_on: Newest day that is over and on which the depot was open; None if there is none
        in the last two weeks, or the depot has not started.
      is_late: Whether there is a `due_on`, and `last_on` is None or before it.
    """

    last_on: date | None
    due_on: date | None
    is_late: bool


DEPOTS = f"""
select d.depot_id, d.city, n.name,
       d.name || ' · ' || d.city || case when d.name = d.depot_id then ''
                                         else ' · ' || d.depot_id end as label
from depots d join ({DEPOT_NAMES}) n using (depot_id)
order by d.city, d.name, d.depot_id
"""


@st.cache_data(max_entries=4, show_spinner=False)
def depots(freshness: Freshness) -> pd.DataFrame:
    """depot_id, city, name and label (name, city and id in one) of every depot, by city and name."""
    return read(DEPOTS)


DEPOT_STATUS = f"""
with closures as ({CLOSURES})
select f.last_on, f.due_on, f.is_late or f.is_silent as is_late
from depots d join ({DEPOT_FRESHNESS}) f using (depot_id)
where d.depot_id = :depot
"""


@st.cache_data(max_entries=128, show_spinner=False)
def depot_status(depot: str, freshness: Freshness) -> DepotStatus:
    """Whether the data of one depot is complete."""
    as_of = freshness.newest
    row = read_row(DEPOT_STATUS, depot=depot, as_of=as_of, since=as_of - FORTNIGHT)
    return DepotStatus(**row)


# The same holiday; else, for a day with holidays or events, the same weekday with some of these and
# no others, nearest to 52 weeks before; else the day 52 weeks before.
YEAR_BEFORE = f"""
    select c.day_on from (
        select 1 as choice, b.day_on from public_holidays h
        join public_holidays b using (country, subdivision, name)
        where h.day_on = g.day_on and h.country = d.country
          and h.subdivision in ('', coalesce(d.subdivision, ''))
          and b.day_on between g.day_on - 400 and g.day_on - 330
        union all
        select 2, g.day_on - 7 * weeks from generate_series(48, 57) as weeks
        union all
        select 3, g.day_on - 364
    ) c
    cross join lateral (
        select events || holidays as on_then from (select {SPECIAL_OF.format(day="c.day_on")}) s) t
    cross join lateral (
        select events || holidays as on_now from (select {SPECIAL_OF.format(day="g.day_on")}) s) n
    where choice <> 2 or (on_then <> '{{}}' and on_then <@ on_now)
    order by choice, abs(g.day_on - c.day_on - 364), c.day_on desc limit 1
"""

DEPOT_DAYS = f"""
with closures as ({CLOSURES}), days as ({DAYS})
select g.day_on, v.orders as actual, {week_before("d", "w")} as week_before, y.orders as year_before,
       y.service_on as year_before_on, f.p10, f.point, f.p90, f.basis, f.model_point,
       f.override_id,
       coalesce(f.is_set, o.orders is not null) as is_set, o.orders as planner_orders,
       coalesce(f.override_reason, o.reason) as override_reason,
       coalesce(f.made_by, o.made_by) as made_by, f.overruled_by,
       coalesce(f.basis = 'closed', {is_closed("g.day_on", "d")}) as is_closed,
       {SPECIAL_OF.format(day="g.day_on")}
from days g join depots d on d.depot_id = :depot
left join demand_versions v
  on v.depot_id = :depot and v.service_on = g.day_on and v.superseded_at is null
left join ({PLANNED_FORECASTS} and f.depot_id = :depot) f
  on f.target_on = g.day_on and {is_ahead(TODAY)}
left join demand_versions w
  on f.target_on is not null and w.depot_id = :depot and w.service_on = g.day_on - 7
 and w.superseded_at is null
left join demand_versions y
  on f.target_on is not null and y.depot_id = :depot and y.superseded_at is null
 and y.service_on = ({YEAR_BEFORE})
left join lateral (
    select orders, reason, made_by from overrides
    where depot_id = :depot and target_on = g.day_on order by override_id desc limit 1
) o on f.target_on is null and o.orders is not null
order by g.day_on
"""


@st.cache_data(max_entries=128, show_spinner=False)
def depot_days(depot: str, freshness: Freshness) -> pd.DataFrame:
    """The last `HISTORY_DAYS` days of one depot, and its days ahead, one row per day.

    A forecast day that is over is not a day ahead, as in `days_ahead.fleet_week`.

    Returns:
      day_on, actual (NaN where not observed), is_closed, events (list of kinds), holidays (list
      of names); is_set (whether a planner's number is in force), its override_reason and made_by
      (else None), and on past days planner_orders. For days ahead, and missing on past days: p10,
      point, p90 (the planner's number and the band moved with it, else the model's), model_point,
      basis, override_id (of the newest override, if any), overruled_by (the planner whose number
      a later closure overrules, else None), week_before (as in `days_ahead.fleet_week`), and
      year_before and year_before_on (orders and date of the same holiday a year before, else of
      the same weekday with the same events, else of the day 52 weeks before).
    """
    until = freshness.until if freshness.origin_on is not None else freshness.newest
    return read(
        DEPOT_DAYS,
        numbers=[
            "actual", "p10", "point", "p90", "model_point", "override_id",
            "week_before", "year_before", "planner_orders",
        ],
        days=["day_on", "year_before_on"],
        depot=depot,
        since=freshness.newest - timedelta(days=HISTORY_DAYS - 1),
        until=max(freshness.newest, until),
        origin=freshness.origin_on,
        model=freshness.model,
        now=freshness.day_began_at,
    )  # fmt: skip


# The last forecast of each day: live if the depot has any live forecast, else hindcast.
PAST_FORECASTS = f"""
with kind as (
    select coalesce(bool_or(is_live), false) as is_live from scores
    where depot_id = :depot
), latest as (
    select distinct on (s.target_on)
           s.depot_id, s.target_on, s.origin_on, s.actual, s.p10, s.point, s.p90, s.is_live, f.basis,
           s.model_version, m.filename, m.sha256
    from scores s
    join forecasts f using (depot_id, origin_on, target_on, model_version)
    join models m on m.version = s.model_version
    join kind on kind.is_live = s.is_live
    where s.depot_id = :depot
      and (not s.is_live or (s.origin_on, s.model_version)
                            in (select origin_on, model_version from live_forecasts))
    order by s.target_on desc, s.origin_on desc, f.made_at desc
    limit :days_back
)
select latest.*, {SAME_SIDE_OF.format(score="latest")} from latest order by target_on
"""


@st.cache_data(max_entries=128, show_spinner=False)
def past_forecasts(depot: str, freshness: Freshness) -> pd.DataFrame:
    """The last forecast of each of the newest 56 scored days, with the actuals.

    Returns:
      depot_id, target_on, origin_on, actual, p10, point, p90, is_live, basis, model_version,
      filename and sha256 (of its artefact), same_side (as `largest_errors`), oldest day first.
      Hindcasts only if the depot has no live forecast.
    """
    return read(
        PAST_FORECASTS,
        numbers=["actual", "p10", "point", "p90"],
        days=["target_on", "origin_on"],
        depot=depot,
        days_back=SCORED_DAYS,
    )


def as_of(forecast: Mapping[Hashable, Any], freshness: Freshness) -> Freshness:
    """The freshness when a row of `past_forecasts` was forecast, so that it can be explained."""
    origin, day = (forecast[name].date() for name in ("origin_on", "target_on"))
    return replace(
        freshness, origin_on=origin, last_on=origin, until_on=day, day_began_at=Freshness.day_began_at,
        model=forecast["model_version"], filename=forecast["filename"],
        sha256=forecast["sha256"],
    )  # fmt: skip


# The depots whose history influences a forecast: those of its city, or the whole fleet if no
# depot of the city has counts up to :mature_by (`cold_start`).
PEER_DEPOTS_CTE = """
with here as (
    select city from depots where depot_id = :depot
), known as (
    select exists (
        select from depots c join here using (city) join demand_versions v using (depot_id)
        where v.superseded_at is null and v.orders is not null
          and v.service_on between :first and :mature_by) as is_mature
), peers as (
    select d.* from depots d, here, known where d.city = here.city or not known.is_mature
)
"""

PEER_DEPOTS = f"""{PEER_DEPOTS_CTE}
select depot_id, city, country, subdivision, opened_on, closed_on, closed_weekdays
from peers order by depot_id
"""

PEER_DEMAND = f"""{PEER_DEPOTS_CTE}
select v.depot_id, v.service_on, v.orders
from demand_versions v join peers using (depot_id)
where v.superseded_at is null and v.service_on between :first and :through
"""

PEER_HOLIDAYS = f"""{PEER_DEPOTS_CTE}
select country, subdivision, day_on, name from public_holidays
where country in (select country from peers)
"""

PEER_SIGNALS = f"""{PEER_DEPOTS_CTE}
select {SIGNAL_COLUMNS}
from signal_versions
where superseded_at is null and not withdrawn and day_on >= :first
  and (depot_id in (select depot_id from peers) or city in (select city from peers))
"""

ALL_EVENTS = """
select kind, starts_on, ends_on, city, depot_id, value, known_from from events
order by event_id
"""


def panel_tables(depot: str, first: date, through: date) -> dict[str, pd.DataFrame]:
    """The model inputs of all depots that influence a depot's forecast.

    These are the depots of its city, or the whole fleet if none of them has a
    history of `cold_start.YOUNG_DAYS`.

    Returns:
      depots, demand (from `first` through `through`), events, holidays and signals, as
      `forecaster.data.panel_builder.build_panel` takes them.
    """
    keys: dict[str, Any] = {
        "depot": depot,
        "first": first,
        "through": through,
        "mature_by": through - timedelta(days=YOUNG_DAYS - 1),
    }
    with snapshot() as connection:
        return {
            "depots": select(connection, PEER_DEPOTS, **keys),
            "demand": select(connection, PEER_DEMAND, ["orders"], **keys),
            "events": select(connection, ALL_EVENTS),
            "holidays": select(connection, PEER_HOLIDAYS, **keys),
            "signals": select(connection, PEER_SIGNALS, **keys),
        }
