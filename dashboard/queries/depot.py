"""Queries of one depot: status, days, past forecasts, events and model inputs."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import pandas as pd
import streamlit as st

from dashboard.queries.database import read, read_row, select, snapshot
from dashboard.queries.freshness import FORTNIGHT, Freshness
from dashboard.sql import depot as sql
from dashboard.sql import fleet as fleet_sql
from forecaster.inference.cold_start import YOUNG_DAYS

HISTORY_DAYS = 56
PAST_DAYS = 28
EVENT_DAYS = 28


@dataclass(frozen=True)
class PreviousForecast:
    """The depot's previous forecast, and the data that changed after it was made.

    Attributes:
      origin_on: Its origin.
      model: Version of the model that made it.
      corrected: Number of daily counts corrected since.
      events: Kinds of events in the forecast days loaded or changed since.
    """

    origin_on: date
    model: str
    corrected: int
    events: tuple[str, ...]


@dataclass(frozen=True)
class DepotStatus:
    """Notices about one depot, shown above its numbers.

    Attributes:
      last_on: Newest day with known demand; None where none is known.
      due_on: Newest day on which the depot was open; None if it was closed for the last
        two weeks.
      is_late: Whether `last_on` is None or before `due_on`.
      is_fallback: Whether its forecast is the baseline, because the model's live
        forecasts were worse than the seasonal naive's.
      previous: Its previous forecast; None where there is none.
    """

    last_on: date | None
    due_on: date | None
    is_late: bool
    is_fallback: bool
    previous: PreviousForecast | None


@st.cache_data(max_entries=4, show_spinner=False)
def depots(freshness: Freshness) -> pd.DataFrame:
    """depot_id, city and label (name, city and id in one) of every depot, by city and name."""
    return read(fleet_sql.DEPOTS)


@st.cache_data(max_entries=128, show_spinner=False)
def depot_status(depot: str, freshness: Freshness) -> DepotStatus:
    """A depot's feed freshness, previous forecast and fallback state."""
    row = read_row(
        sql.DEPOT_STATUS,
        depot=depot,
        as_of=freshness.newest,
        since=freshness.lagging_day - FORTNIGHT,
        origin=freshness.origin_on,
        until=freshness.until_on,
    )
    previous = None
    if row["before_on"] is not None:
        events = tuple(row["new_events"])
        previous = PreviousForecast(
            row["before_on"], row["before_model"], row["corrected"], events
        )
    return DepotStatus(
        row["last_on"], row["due_on"], row["is_late"], row["is_fallback"], previous
    )


@st.cache_data(max_entries=128, show_spinner=False)
def depot_days(depot: str, freshness: Freshness) -> pd.DataFrame:
    """The last 8 weeks of one depot and the days ahead, a row for each day.

    Returns:
      day_on, actual (NaN where not observed), p10, point, p90 (as planned: the planner's
      number where there is one, the band moved with it, else the model's; NaN for days
      past), model_point (the model's own), basis, is_closed, events (kinds, a list), holidays
      (names, a list), point_before (previous forecast of the day); of a day's newest
      override: override_id (NaN without one), is_set, override_reason and
      made_by (None unless its number counts), overruled_by (who made the number over which
      a later closure wins, else None).
    """
    until = freshness.until if freshness.origin_on is not None else freshness.newest
    return read(
        sql.DEPOT_DAYS,
        numbers=[
            "actual", "p10", "point", "p90", "model_point", "point_before", "override_id"
        ],
        days=["day_on"],
        depot=depot,
        since=freshness.newest - timedelta(days=HISTORY_DAYS - 1),
        until=max(freshness.newest, until),
        origin=freshness.origin_on,
        model=freshness.model,
    )  # fmt: skip


@st.cache_data(max_entries=128, show_spinner=False)
def past_forecasts(depot: str, freshness: Freshness) -> pd.DataFrame:
    """The last forecast of each of 28 past days, with the actuals.

    Returns:
      target_on, origin_on, actual, p10, point, p90, is_live, model_version, oldest day
      first. Live forecasts only; hindcasts only where the depot has no live one.
    """
    return read(
        sql.PAST_FORECASTS,
        numbers=["actual", "p10", "point", "p90"],
        days=["target_on", "origin_on"],
        depot=depot,
        days_back=PAST_DAYS,
    )


@st.cache_data(max_entries=128, show_spinner=False)
def events_ahead(depot: str, freshness: Freshness) -> pd.DataFrame:
    """Holidays and events of a depot in the 28 days after the newest one.

    Returns:
      what, is_holiday (then `what` is its name, else a kind), starts_on, ends_on, scope
      ('this depot', 'all of CITY', 'everywhere', 'public holiday').
    """
    return read(
        sql.EVENTS_AHEAD,
        days=["starts_on", "ends_on"],
        depot=depot,
        first=freshness.newest + timedelta(days=1),
        until=freshness.newest + timedelta(days=EVENT_DAYS),
    )


def panel_tables(depot: str, first: date, through: date) -> dict[str, pd.DataFrame]:
    """The model inputs of all depots that influence a depot's forecast.

    These are the depots of its city, or the whole fleet where none of the city has a
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
            "depots": select(connection, sql.PEER_DEPOTS, **keys),
            "demand": select(connection, sql.PEER_DEMAND, ["orders"], **keys),
            "events": select(connection, sql.ALL_EVENTS),
            "holidays": select(connection, sql.PEER_HOLIDAYS, **keys),
            "signals": select(connection, sql.PEER_SIGNALS, **keys),
        }
