"""Writes a small fleet straight into the tables: depots, demand, forecasts, scores."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import sqlalchemy as sa

from forecaster.data.panel_builder import build_panel
from forecaster.inference import artefact
from forecaster.inference.artefact import Artefact
from pipelines import schema
from pipelines.store import score_totals
from pipelines.store.copying import copy_rows
from tests.make import make_artefact
from tests.pipelines.make import publish

N_DAYS = 120
HORIZON = 7
LIVE_ORIGINS = 20
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
HINDCAST_ORIGINS = 30
CHAMPION, JUDGE = "20260101-champion", "20251001-judge00"

DEPOTS = [
    # depot_id, name, city, country, vans, closed_weekdays, orders a day
    ("RTM-01", "Waalhaven", "Rotterdam", "NL", 6, [], 420),
    ("RTM-02", "Kralingen", "Rotterdam", "NL", 4, [7], 260),
    ("RTM-03", "Delfshaven", "Rotterdam", "NL", 3, [], 150),
    ("LON-01", "Greenwich", "London", "GB", 8, [], 1240),
    ("LON-02", "Wapping", "London", "GB", None, [], 310),
    ("LON-03", "Poplar", "London", "GB", 5, [], 205),
]
ZONES = {"NL": "Etc/UTC", "GB": "Etc/GMT"}
"""Days end with those of the fleet's zone, so that tests hold at each hour."""
POINT = 0.97
"""The point in medians: below it, so that no page shows the one for the other."""
TOTALS = schema.score_totals.name
WEEK = np.array([1.0, 0.95, 1.0, 1.1, 1.35, 0.8, 0.6])
# Columns and rows of a table, ready to be streamed.
Bulk = tuple[list[str], list[tuple[object, ...]]]


@dataclass(frozen=True)
class Seeded:
    """The seeded rows, for expected values computed without SQL."""

    through: date
    depots: pd.DataFrame
    demand: pd.DataFrame
    forecasts: pd.DataFrame
    scores: pd.DataFrame


def seed(
    engine: sa.Engine,
    through: date,
    artefacts: Path | None = None,
    live: bool = True,
    hindcasts: bool = True,
) -> Seeded:
    """A fleet of 6 depots in 2 cities, 120 days, its newest forecast from `through`.

    Args:
      engine: Migrated and empty.
      through: Last day of demand, and origin of the newest forecast.
      artefacts: Folder for the champion's artefact; none is written without.
      live: Whether past forecasts were made in their nights.
      hindcasts: Whether earlier ones were made afterwards.
    """
    depots = make_depots()
    events, holidays = make_events(through), make_holidays(through)
    demand, made, scored = numbers(through, live, hindcasts)
    filename, sha256 = f"{CHAMPION}.npz", "unwritten"
    if artefacts is not None:
        path = artefact.save(champion(through, live, hindcasts), artefacts)
        filename, sha256 = path.name, artefact.file_sha256(path)
    with engine.begin() as connection:
        models = make_models(through, filename, sha256)
        for table, rows in (
            (schema.depots, depots),
            (schema.models, models),
            (schema.events, events.assign(file_id=1, known_at=LONG_AGO)),
            (schema.public_holidays, holidays),
        ):
            connection.execute(sa.insert(table), records(rows))
        tables = bulk(through, live, hindcasts)
        for name, (columns, rows) in tables.items():
            copy_rows(connection, name, columns, rows)
        shown = made.query("is_live").sort_values("origin_on", kind="stable")
        publish(connection, *shown.to_dict("records"))
        if TOTALS not in tables:
            score_totals.renew_all(connection)
            tables[TOTALS] = table_as_it_is(connection, schema.score_totals)
    return Seeded(through, depots, demand, made, scored)


@cache
def numbers(
    through: date, live: bool, hindcasts: bool
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Demand, forecasts and scores; made once, because they take longest."""
    demand = make_demand(through)
    made = make_forecasts(through, live, hindcasts)
    return demand, made, make_scores(made, demand)


@cache
def champion(through: date, live: bool, hindcasts: bool) -> Artefact:
    """A model of the fleet whose weights were never trained."""
    demand, _, _ = numbers(through, live, hindcasts)
    parts = (make_depots(), demand, make_events(through), make_holidays(through))
    return make_artefact(build_panel(*parts, through, HORIZON))


def table_as_it_is(connection: sa.Connection, table: sa.Table) -> Bulk:
    """Columns and rows of a table, ready to be streamed."""
    result = connection.execute(sa.select(table))
    return list(result.keys()), [tuple(row) for row in result]


@cache
def bulk(through: date, live: bool, hindcasts: bool) -> dict[str, Bulk]:
    """The large tables; the first to write them adds the totals, which take longest."""
    demand, made, scored = numbers(through, live, hindcasts)
    tables = {
        "demand_versions": as_versions(demand).astype({"orders": int}),
        "forecasts": made,
        "scores": scored,
    }
    return {
        name: (list(table.columns), [tuple(row.values()) for row in records(table)])
        for name, table in tables.items()
    }


def publication(origin: date, model: str) -> sa.Insert:
    """The statement that publishes a live forecast, the morning after its origin."""
    morning = datetime.combine(origin + timedelta(days=1), time(7), UTC)
    return sa.insert(schema.publications).values(
        origin_on=origin, model_version=model, is_live=True, published_at=morning
    )


def remade(forecasts: pd.DataFrame, model: str, hours: int) -> list[dict[str, object]]:
    """The same forecasts by another model, made some hours later."""
    later = forecasts["made_at"] + timedelta(hours=hours)
    return records(forecasts.assign(model_version=model, made_at=later))


def records(table: pd.DataFrame) -> list[dict[str, object]]:
    """Rows as the driver takes them: None for whatever is missing."""
    plain = table.astype(object)
    return plain.where(plain.map(_is_known), None).to_dict("records")


def make_depots() -> pd.DataFrame:
    """As the tables `depots` has them."""
    rows = [
        {
            "depot_id": depot_id,
            "name": name,
            "city": city,
            "timezone": ZONES[country],
            "country": country,
            "subdivision": None,
            "vans": vans,
            "opened_on": None,
            "closed_on": None,
            "closed_weekdays": closed,
            "is_complete": True,
        }
        for depot_id, name, city, country, vans, closed, _ in DEPOTS
    ]
    return pd.DataFrame(rows).astype({"vans": object})


def make_demand(through: date) -> pd.DataFrame:
    """depot_id, service_on, orders; one depot's last day and one past day are missing."""
    rng = np.random.default_rng(7)
    rows = []
    for depot_id, _, _, _, _, closed, level in DEPOTS:
        for back in range(N_DAYS - 1, -1, -1):
            day = through - timedelta(days=back)
            noise = rng.lognormal(0, 0.07)
            if day.isoweekday() in closed:
                continue
            if (depot_id, back) in {("LON-03", 0), ("RTM-01", 10)}:
                continue
            orders = float(round(level * WEEK[day.weekday()] * noise))
            rows.append((depot_id, day, orders))
    return pd.DataFrame(rows, columns=["depot_id", "service_on", "orders"])


def make_events(through: date) -> pd.DataFrame:
    """A promotion now and then in London, and one depot closed the day after tomorrow."""
    rows = [
        ("promotion", through + timedelta(days=n), through + timedelta(days=n + 2))
        for n in (-80, -45, -12, 3)
    ]
    london = [(*row, "London", None, None, None) for row in rows]
    day = through + timedelta(days=2)
    columns = [
        "kind", "starts_on", "ends_on", "city", "depot_id", "value", "known_from",
    ]  # fmt: skip
    closed = ("closed", day, day, None, "RTM-03", None, None)
    return pd.DataFrame([*london, closed], columns=columns)


def make_holidays(through: date) -> pd.DataFrame:
    """A public holiday in a fortnight, and one two months ago."""
    days = (through + timedelta(days=14), through - timedelta(days=60))
    rows = [("NL", "", day, f"Harbour Day {n}") for n, day in enumerate(days)]
    return pd.DataFrame(rows, columns=["country", "subdivision", "day_on", "name"])


def make_forecasts(through: date, live: bool, hindcasts: bool) -> pd.DataFrame:
    """The newest forecast, and those of the origins before it."""
    level = {depot[0]: depot[6] for depot in DEPOTS}
    shut = {depot[0]: depot[5] for depot in DEPOTS}
    city = {depot[0]: depot[2] for depot in DEPOTS}
    closed = {("RTM-03", through + timedelta(days=2))}
    rng = np.random.default_rng(11)
    rows = []
    for origin, version, is_live in _origins(through, live, hindcasts):
        made_at = datetime.combine(
            origin + timedelta(days=1 if is_live else 200), time(4, 31), UTC
        )
        for depot_id, usual in level.items():
            for step in range(1, HORIZON + 1):
                target = origin + timedelta(days=step)
                is_closed = (
                    target.isoweekday() in shut[depot_id]
                    or (depot_id, target) in closed
                )
                p50 = usual * WEEK[target.weekday()] * rng.lognormal(0.02, 0.04)
                p50 = 0.0 if is_closed else p50
                rows.append(
                    (depot_id, origin, target, version, 0.9 * p50, p50, 1.1 * p50, POINT * p50,
                     "closed" if is_closed else "model", is_live, made_at, city[depot_id])
                )  # fmt: skip
    columns = [
        "depot_id", "origin_on", "target_on", "model_version", "p10", "p50", "p90",
        "point", "basis", "is_live", "made_at", "city",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def make_scores(made: pd.DataFrame, demand: pd.DataFrame) -> pd.DataFrame:
    """Scores of every forecast whose day is observed and open, with both naive forecasts."""
    observed = demand.set_index(["depot_id", "service_on"])["orders"]
    rows = []
    for row in made[made["basis"] != "closed"].to_dict("records"):
        depot_id, origin, target = row["depot_id"], row["origin_on"], row["target_on"]
        if (depot_id, target) not in observed.index:
            continue
        weeks = [target - timedelta(days=7 * n) for n in range(1, 7)]
        seen = [
            observed[(depot_id, day)]
            for day in weeks
            if day <= origin and (depot_id, day) in observed.index
        ][:4]
        score = {name: row[name] for name in SCORE_COLUMNS}
        score["seasonal_naive"] = seen[0] if seen else None
        score["median4"] = float(np.median(seen)) if seen else None
        rows.append(score | {"actual": observed[(depot_id, target)]})
    columns = [*SCORE_COLUMNS, "seasonal_naive", "median4", "actual"]
    return pd.DataFrame(rows, columns=columns)


SCORE_COLUMNS = (
    "depot_id", "origin_on", "target_on", "model_version", "p10", "p50", "p90", "point",
    "is_live",
)  # fmt: skip


def make_models(through: date, filename: str, sha256: str) -> pd.DataFrame:
    """A champion, and the judge that makes hindcasts."""
    common = {"data_watermark": "seeded", "seed": 0}
    return pd.DataFrame(
        [
            {
                "version": CHAMPION,
                "role": "champion",
                "trained_through": through - timedelta(days=LIVE_ORIGINS),
                "filename": filename,
                "sha256": sha256,
            },
            {
                "version": JUDGE,
                "role": "evaluation",
                "trained_through": through - timedelta(days=60),
                "filename": f"{JUDGE}.npz",
                "sha256": "unwritten",
            },
        ]
    ).assign(**common)


def as_versions(demand: pd.DataFrame) -> pd.DataFrame:
    """Demand as first counts that nothing has corrected."""
    known_at = [
        datetime.combine(day + timedelta(days=1), time(3), UTC)
        for day in demand["service_on"]
    ]
    return demand.assign(version=1, known_at=known_at)


def _origins(
    through: date, live: bool, hindcasts: bool
) -> list[tuple[date, str, bool]]:
    newest = [(through, CHAMPION, True)]
    past = [
        (through - timedelta(days=back), CHAMPION, True)
        for back in range(1, LIVE_ORIGINS + 1)
    ]
    long_past = [
        (through - timedelta(days=LIVE_ORIGINS + back), JUDGE, False)
        for back in range(1, HINDCAST_ORIGINS + 1)
    ]
    return newest + (past if live else []) + (long_past if hindcasts else [])


def _is_known(value: object) -> bool:
    return isinstance(value, list) or not pd.isna(value)
