"""Every question the dashboard asks, each answered by a documented table.

Answers are shared by all sessions, so they are kept under the `Freshness` they were
given under: what was true before the night cannot be reached after it.
"""

from collections.abc import Hashable
from datetime import date, timedelta
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import statements
from dashboard.database import read
from dashboard.freshness import Freshness

FLEET_DAYS = 21
HISTORY_DAYS = 56
SCORED_DAYS = 56
PAST_DAYS = 28
EVENT_DAYS = 28

FORECAST = ("p10", "p50", "p90")


@st.cache_data(ttl=2, max_entries=1, show_spinner=False)
def freshness() -> Freshness:
    """What is known and how new it is; asked anew every two seconds."""
    row = read(statements.FRESHNESS).iloc[0]
    return Freshness(
        depots=int(row["depots"]),
        last_on=_known(row["last_on"]),
        champion=_known(row["champion"]),
        origin_on=_known(row["origin_on"]),
        model=_known(row["model_version"]),
        trained_through=_known(row["trained_through"]),
        made_at=_known(row["made_at"]),
        worked_at=_known(row["worked_at"]),
    )


def data_version() -> str:
    """Champion and data watermark, under which every answer is kept."""
    return freshness().version


@st.cache_data(max_entries=4, show_spinner=False)
def depots(version: str) -> pd.DataFrame:  # noqa: ARG001 - keys the cache
    """Every depot, by city and name.

    Args:
      version: From `data_version`; part of the cache's key and of nothing else.

    Returns:
      depot_id, name, city, vans (NaN where not known), is_complete, label (name, city
      and id in one).
    """
    return read(statements.DEPOTS, numbers=["vans"])


@st.cache_data(max_entries=64, show_spinner=False)
def daily_totals(city: str, fresh: Freshness) -> pd.DataFrame:
    """Orders of all depots together, or of one city's, by day.

    Args:
      city: Its name, or '' for the whole fleet.
      fresh: With a forecast.

    Returns:
      day_on, actual (NaN for days ahead), p50 (sum of the depots' medians; NaN for days
      past), is_whole (False where the feed of a city was silent): the 21 days up to the
      origin and the 7 after it.
    """
    return read(
        statements.DAILY_TOTALS,
        numbers=["actual", "p50"],
        days=["day_on"],
        city=city,
        first=fresh.origin - timedelta(days=FLEET_DAYS - 1),
        **_shown(fresh),
    )


@st.cache_data(max_entries=4, show_spinner=False)
def fleet_week(fresh: Freshness) -> pd.DataFrame:
    """The next 7 days of every depot, by city and what needs attention first.

    Args:
      fresh: With a forecast.

    Returns:
      One row per depot and day. depot_id, name, city, vans, last_on (its newest day of
      known demand), is_late (that is older than it should be), target_on, p10, p50,
      p90, basis ('model', 'similar', 'closed'), week_before (orders seven days before
      that day, NaN where not known), change (of the depot's week against those same
      days, a fraction). Within a city late depots come first, then the largest change.
    """
    return read(
        statements.FLEET_WEEK,
        numbers=["vans", *FORECAST, "week_before", "change"],
        days=["last_on", "target_on"],
        last_on=fresh.last_on,
        **_shown(fresh),
    )


@st.cache_data(max_entries=128, show_spinner=False)
def depot_days(depot: str, fresh: Freshness) -> pd.DataFrame:
    """The last 8 weeks of one depot and the 7 days ahead, a row for each day.

    Args:
      depot: A depot_id.
      fresh: With known demand; a forecast may be missing.

    Returns:
      day_on, actual (NaN where not observed), p10, p50, p90 (NaN for days past), basis,
      is_closed (by its weekdays, or before it opened), note (holidays and events of the
      day, or None).
    """
    until = fresh.until if fresh.origin_on is not None else fresh.newest
    return read(
        statements.DEPOT_DAYS,
        numbers=["actual", *FORECAST],
        days=["day_on"],
        depot=depot,
        first=fresh.newest - timedelta(days=HISTORY_DAYS - 1),
        until=max(fresh.newest, until),
        origin=fresh.origin_on,
        model=fresh.model,
    )


@st.cache_data(max_entries=128, show_spinner=False)
def past_forecasts(depot: str, version: str) -> pd.DataFrame:  # noqa: ARG001 - keys the cache
    """What was last said of each of 28 past days, beside what happened.

    Args:
      depot: A depot_id.
      version: From `data_version`.

    Returns:
      target_on, origin_on, actual, p10, p50, p90, is_live, model_version, oldest day
      first. Live forecasts only; hindcasts only where the depot has no live one.
    """
    return read(
        statements.PAST_FORECASTS,
        numbers=["actual", *FORECAST],
        days=["target_on", "origin_on"],
        depot=depot,
        days_back=PAST_DAYS,
    )


@st.cache_data(max_entries=128, show_spinner=False)
def events_ahead(depot: str, after: date, version: str) -> pd.DataFrame:  # noqa: ARG001 - keys the cache
    """Holidays and events of a depot in the 28 days after a day.

    Args:
      depot: A depot_id.
      after: The day before the first one.
      version: From `data_version`.

    Returns:
      what, starts_on, ends_on, scope ('this depot', 'all of CITY', 'everywhere',
      'public holiday').
    """
    return read(
        statements.EVENTS_AHEAD,
        days=["starts_on", "ends_on"],
        depot=depot,
        first=after + timedelta(days=1),
        until=after + timedelta(days=EVENT_DAYS),
    )


@st.cache_data(max_entries=4, show_spinner=False)
def score_kinds(version: str) -> pd.DataFrame:  # noqa: ARG001 - keys the cache
    """Which scores there are.

    Args:
      version: From `data_version`.

    Returns:
      is_live, days (distinct days scored), last_on: at most two rows, live first.
    """
    return read(statements.SCORE_KINDS, days=["last_on"])


@st.cache_data(max_entries=8, show_spinner=False)
def accuracy(live: bool, version: str) -> pd.DataFrame:  # noqa: ARG001 - keys the cache
    """How far forecasts and baselines were off over the last 8 weeks of scored days.

    Args:
      live: Live forecasts, or hindcasts; never both.
      version: From `data_version`.

    Returns:
      One row per grain ('all', 'day', 'city', 'model'), its day_on, city or
      model_version, and forecaster ('forecast', 'seasonal naive', 'median of 4'): mape,
      wape, bias (forecast - actual, of volume), coverage (of the forecast only) as
      fractions, NaN where undefined; counted (days that MAPE counts).
    """
    return read(
        statements.ACCURACY,
        numbers=["mape", "wape", "bias", "coverage"],
        days=["day_on"],
        live=live,
        days_back=SCORED_DAYS,
    )


def model_file(version: str) -> tuple[str, str] | None:
    """File name and sha256 of a model's artefact; None where it was never recorded."""
    found = read(statements.MODEL_FILE, version=version)
    if found.empty:
        return None
    return str(found["filename"].iloc[0]), str(found["sha256"].iloc[0])


def city_tables(depot: str, first: date, through: date) -> dict[str, pd.DataFrame]:
    """What the panel of a depot's city is built from.

    Args:
      depot: A depot_id.
      first: First day of demand.
      through: Last day of demand.

    Returns:
      depots, demand, events and holidays, as `forecaster.panel.build_panel` takes them.
    """
    return {
        "depots": read(statements.CITY_DEPOTS, depot=depot),
        "demand": read(
            statements.CITY_DEMAND,
            numbers=["orders"],
            depot=depot,
            first=first,
            through=through,
        ),
        "events": read(statements.ALL_EVENTS),
        "holidays": read(statements.CITY_HOLIDAYS, depot=depot),
    }


def _shown(fresh: Freshness) -> dict[str, Hashable]:
    """The binds that name the forecast shown."""
    return {"origin": fresh.origin, "model": fresh.model, "until": fresh.until}


def _known(value: Any) -> Any:
    """None where the database had null."""
    return None if pd.isna(value) else value
