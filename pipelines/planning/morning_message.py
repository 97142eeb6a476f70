"""The morning message: what planners of each city should look at, once the night is done."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import pandas as pd
import sqlalchemy as sa

from forecaster.errors import ArtefactError
from forecaster.inference import artefact
from pipelines.database.engine import snapshot
from pipelines.planning import city_settings, days_ahead, words
from pipelines.planning.days_ahead import Shown
from pipelines.planning.van_plan import Plan, make_plan
from pipelines.schema.active_depots import NEWEST_COUNT
from pipelines.settings import Settings

MAX_CITIES = 10
MIN_CHANGED_ORDERS = 20.0
"""Smallest change of a city's forecast for a day, in orders, that the message reports."""

SHOWN = f"""
select s.origin_on, s.model_version, m.filename, m.sha256,
       coalesce(r.finished_at, s.published_at) as made_at,
       (select max(target_on) from forecasts f
        where (f.origin_on, f.model_version) = (s.origin_on, s.model_version)) as until_on,
       ({NEWEST_COUNT}) as last_on
from shown_forecast s join models m on m.version = s.model_version
left join runs r on r.run_id = s.run_id
where s.origin_on = :origin
"""


@dataclass(frozen=True)
class Tables:
    """The data of the message.

    Attributes:
      plan: Plan of the forecast that is shown.
      week, events, last_day: From `days_ahead`: `fleet_week`, `fleet_events` and `last_day`.
      last_on: Newest day with known demand.
      made_at: When the forecast was made, in the fleet's zone.
    """

    plan: Plan
    week: pd.DataFrame
    events: pd.DataFrame
    last_day: pd.DataFrame
    last_on: date
    made_at: datetime


def morning_message(
    engine: sa.Engine, settings: Settings, origin: date, now: datetime
) -> list[str]:
    """One line for each city that reaches a threshold of the settings, the worst first.

    Cities beyond `MAX_CITIES` are only counted. The numbers are the same as on the pages. Empty
    if no city reaches a threshold, or the forecast that is shown has another origin.
    """
    if not settings.message_days:
        return []
    tables = read_tables(engine, settings, origin, now)
    if tables is None:
        return []
    return message_lines(tables, settings, now.astimezone(settings.zone).date())


def read_tables(
    engine: sa.Engine, settings: Settings, origin: date, now: datetime
) -> Tables | None:
    """Reads the data of the message; None if the forecast that is shown has another origin."""
    with snapshot(engine) as connection:
        row = connection.execute(sa.text(SHOWN), {"origin": origin}).one_or_none()
        if row is None or row.last_on is None:
            return None
        shown = Shown(row.origin_on, row.until_on, row.model_version, row.last_on, now)
        week = days_ahead.fleet_week(connection, shown)
        if week.empty:
            return None
        cities = city_settings.in_force(
            week,
            days_ahead.busy_day_orders(connection, shown),
            days_ahead.city_settings(connection, shown),
            days_ahead.van_decisions(connection, shown),
        )
        bands = days_ahead.city_bands(week)
        shares = days_ahead.city_shares(connection, shown)
        events = days_ahead.fleet_events(connection, shown)
        last_day = days_ahead.last_day(connection, shown)
    try:
        # As on the pages, without last year's errors if the file cannot be used.
        replay = artefact.load(settings.artefacts / row.filename, row.sha256).paths
    except ArtefactError:
        replay = None
    plan = make_plan(week, cities, bands, replay, shares)
    made_at = row.made_at.astimezone(settings.zone)
    return Tables(plan, week, events, last_day, row.last_on, made_at)


def message_lines(tables: Tables, settings: Settings, today: date) -> list[str]:
    """The lines of the message, for the cities that reach a threshold of the settings; no I/O.

    Short vans count only on days that are not decided; `today` is in the fleet's zone.
    """
    end = tables.week["target_on"].min() + timedelta(days=settings.message_days)
    least_change, url = settings.message_changed_percent / 100, settings.dashboard_url
    changes = _changes(tables.week)
    made_at = f"{words.day(tables.made_at)}, {tables.made_at:%H:%M}"
    found: list[tuple[int, float, str, str]] = []
    for city, days in tables.plan.cities.groupby("city"):
        is_short = days["short"] >= settings.message_short_vans
        is_left = is_short & ~days["is_decided"]
        is_settled = days["is_decided"] & (is_short | days["extra"].gt(0))
        is_soon = days["target_on"] < end
        own = changes.get(str(city), {})
        large = {
            day: own[day]
            for day in days.loc[is_soon, "target_on"]
            if abs(own.get(day, 0.0)) >= least_change
        }
        if not (large or is_left[is_soon].any()):
            continue
        n_later = int(is_left[~is_soon].sum())
        parts = [
            f"{city}, forecast of {made_at}.",
            *(
                _short_sentence(day, tables.events)
                for day in days[is_soon & (is_left | is_settled)].to_dict("records")
            ),
            *(
                f"{words.day(day)}: forecast {words.signed_percent(change, 0)} since the last one."
                for day, change in large.items()
            ),
            f"{words.count(n_later, 'more short day')} after these." if n_later else "",
            last_day_sentence(tables.last_day, str(city), tables.last_on, today),
            words.link(f"{url}/plan", city=str(city)) if url else "",
        ]
        short = -int(days.loc[is_soon & is_left, "short"].sum())
        largest = max(map(abs, large.values()), default=0.0)
        found.append((short, -largest, str(city), " ".join(filter(None, parts))))
    lines = [line for *_, line in sorted(found)]
    more = len(lines) - MAX_CITIES
    rest = [f"And {words.count(more, 'more city', 'more cities')}."] if more > 0 else []
    return lines[:MAX_CITIES] + rest


def _short_sentence(day: Mapping[Hashable, Any], events: pd.DataFrame) -> str:
    """'Fri 27 Nov: 23 vans short (Black Friday), chance of full delivery < 1 %.'.

    A decision replaces the chance: 'Fri 27 Nov: 23 vans short, help asked for by Ann.'
    """
    on_day = events[events["day_on"] == day["target_on"]]
    occasion = words.names_of_day(on_day, [day["city"]], 0)
    short = f"{words.count(day['short'], 'van')} short"
    ending = f", chance of full delivery {words.chance(day['delivery_probability'])}"
    if not day["short"]:
        short = "covered"
    if day["kind"]:
        ending = f", {words.decision_words(day)} by {day['made_by']}"
    reason = f" ({occasion})" if occasion else ""
    return f"{words.day(day['target_on'])}: {short}{reason}{ending}."


def _changes(week: pd.DataFrame) -> dict[str, dict[Hashable, float]]:
    """Relative change of the model's forecast since the previous one, by city and day, unless small."""
    both = week.dropna(subset=["point_before"])
    sums = both.groupby(["city", "target_on"])[["model_point", "point_before"]].sum()
    difference = sums["model_point"] - sums["point_before"]
    told = sums[(difference.abs() >= MIN_CHANGED_ORDERS) & (sums["point_before"] > 0)]
    share = difference.loc[told.index] / told["point_before"]
    return {
        str(city): dict(own.droplevel("city").items())
        for city, own in share.groupby("city")
    }


def last_day_sentence(
    scored: pd.DataFrame, city: str, last_on: date, today: date
) -> str:
    """'Yesterday 3 % too low.', over depots with an actual and a forecast; '' without orders.

    'Yesterday 40 % too low at 1 of 3 depots.' while others that were expected are not counted.
    """
    own = scored[scored["city"] == city]
    known = own.dropna(subset=["actual", "point"])
    actual, forecast = known["actual"].sum(), known["part"].sum()
    if not actual:
        return ""
    n_expected = int((own["is_expected"] | own.index.isin(known.index)).sum())
    of = f" at {len(known):,} of {words.count(n_expected, 'depot')}"
    is_yesterday = last_on == today - timedelta(days=1)
    name = "Yesterday" if is_yesterday else words.day(last_on)
    return f"{name} {words.miss(forecast, actual)}{of * (len(known) < n_expected)}."
