"""Rows put straight into the tables, for tests of what happens after a load."""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from datetime import UTC, date, datetime, time, timedelta
from itertools import product
from pathlib import Path
from secrets import token_hex
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from forecaster.config import DEFAULT_POINT, PointFor
from forecaster.inference import artefact
from forecaster.inference.artefact import Artefact
from pipelines.cli.night_findings import Finding, check_nights
from pipelines.demand import counting
from pipelines.demand.panels import ReadPanels, read_panel, shared_panels
from pipelines.forecasting import forecast, live_accuracy, scoring
from pipelines.runs.ledger import Run, recorded
from pipelines.schema import daily_counts, depots, events, files, orders
from pipelines.settings import Settings
from pipelines.store import models, order_counts, publications
from pipelines.store.accuracy import Period
from pipelines.store.forecasts import FORECAST_COLUMNS, replace_forecasts
from pipelines.training import promotion
from pipelines.training.promotion import PromotionDecision
from tests.make import make_artefact

START, DAYS = date(2024, 1, 1), 60
LAST = START + timedelta(days=DAYS - 1)
NOW = datetime.combine(LAST + timedelta(days=1), time(), UTC)
"""The end of the last day of a fleet that has been counted."""


def query(
    engine: sa.Engine, statement: str | sa.Executable, **values: Any
) -> list[sa.Row[Any]]:
    """Runs a statement in a transaction of its own, and returns its rows, if it has any."""
    asked = sa.text(statement) if isinstance(statement, str) else statement
    with engine.begin() as connection:
        result = connection.execute(asked, values)
        return list(result) if result.returns_rows else []


def live_scores(
    engine: sa.Engine, segments: Sequence[str], period: Period
) -> list[dict[str, Any]]:
    """`live_accuracy.scores_by` on a connection of its own."""
    with engine.connect() as connection:
        return live_accuracy.scores_by(connection, segments, period)


def scalar(engine: sa.Engine, statement: str | sa.Executable, **values: Any) -> Any:
    """The first value of the first row of a statement; None without a row."""
    return next((row[0] for row in query(engine, statement, **values)), None)


def count(engine: sa.Engine, table: sa.FromClause, *conditions: Any) -> int:
    """Number of a table's rows that meet some conditions."""
    counted = sa.select(sa.func.count()).select_from(table).where(*conditions)
    return int(scalar(engine, counted))


def night_finding(engine: sa.Engine, check: str, settings: Settings) -> Finding:
    """What doctor finds of a check of the nights."""
    findings = check_nights(engine, settings)
    return next(each for each in findings if each.check == check)


def add_depot(
    connection: sa.Connection, depot_id: str = "A", **columns: object
) -> None:
    """A depot in Delft, in the zone of Amsterdam."""
    row = {
        "depot_id": depot_id,
        "name": depot_id,
        "city": "Delft",
        "timezone": "Europe/Amsterdam",
        "country": "NL",
        "is_complete": True,
    }
    connection.execute(sa.insert(depots), {**row, **columns})


def add_champion(engine: sa.Engine, through: date, folder: Path) -> Artefact:
    """A champion, "v", trained through a day; its file is in the folder."""
    made = make_artefact(read_panel(engine, through))
    save_model(engine, made, folder, role="champion", version="v")
    return made


def record_model(
    connection: sa.Connection, version: str, role: str, **columns: Any
) -> None:
    """Records a model without a file; the columns replace its own."""
    own = {
        "trained_through": START, "data_watermark": "", "filename": f"{version}.npz",
        "sha256": "", "seed": 0, "scores": {},
    }  # fmt: skip
    models.add_model(connection, version=version, role=role, **own | columns)


def save_model(engine: sa.Engine, made: Artefact, folder: Path, **columns: Any) -> Path:
    """Saves an artefact and records it as a training does; the columns replace its own."""
    path = artefact.save(made, folder)
    own = {
        "version": made.version, "trained_through": made.trained_through, "seed": 0,
        "data_watermark": "", "scores": {},
    }  # fmt: skip
    file = {"filename": path.name, "sha256": artefact.file_sha256(path)}
    with engine.begin() as connection:
        models.add_model(connection, **own | file | columns)
    return path


def add_orders(
    connection: sa.Connection, depot_id: str, *moments: str | tuple, file_id: int = 1
) -> None:
    """Orders at wall-clock times, or (time, minutes east of UTC)."""
    count = connection.scalar(sa.select(sa.func.count()).select_from(orders))
    for number, moment in enumerate(moments, start=count):
        local, offset = moment if isinstance(moment, tuple) else (moment, None)
        connection.execute(
            sa.insert(orders),
            {
                "order_id": f"o{number}",
                "depot_id": depot_id,
                "ordered_local": datetime.fromisoformat(local),
                "utc_offset_minutes": offset,
                "file_id": file_id,
            },
        )
    order_counts.mark_all(connection)


def add_fleet(connection: sa.Connection, n_depots: int = 3, n_days: int = 120) -> None:
    """Depots with daily counts that have a weekly wave."""
    rng = np.random.default_rng(4)
    shape = np.array([1.0, 1.1, 1.0, 1.2, 1.4, 0.7, 0.5])
    for number in range(n_depots):
        depot_id = f"A{number}"
        add_depot(connection, depot_id)
        level = 60 * (number + 1)
        rows = [
            {
                "depot_id": depot_id,
                "service_on": START + timedelta(days=step),
                "orders": int(level * shape[step % 7] * rng.lognormal(0, 0.08)),
                "file_id": 1,
            }
            for step in range(n_days)
        ]
        connection.execute(sa.insert(daily_counts), rows)


def add_file(connection: sa.Connection, kind: str = "orders", **columns: Any) -> int:
    """Records a file of one row as loaded, and returns its id; the columns replace its own."""
    row = {
        "path": f"{kind}.csv", "sha256": token_hex(), "options_sha256": "", "kind": kind,
        "accepted": 1, "unchanged": 0, "rejected": 0, "ignored_columns": [],
    }  # fmt: skip
    insert = sa.insert(files).values(row | columns).returning(files.c.file_id)
    return int(connection.execute(insert).scalar_one())


def add_forecast(
    connection: sa.Connection,
    depot_id: str,
    origin: date,
    version: str,
    made_at: datetime,
) -> None:
    """A live forecast of a depot's next day."""
    row = (depot_id, origin, origin + timedelta(days=1), version, "", 1.0, 2.0, 3.0, 2.0,
           "model", True, made_at, None)  # fmt: skip
    replace_forecasts(
        connection, origin, version, forecast_table([row]), live=True, run_id=0
    )


def add_counts(
    connection: sa.Connection,
    depot_ids: Iterable[str],
    days: Iterable[date],
    orders: object,
) -> None:
    """The same count of some depots and days, as a file has it."""
    rows = [
        {"depot_id": depot_id, "service_on": day, "orders": orders, "file_id": 1}
        for depot_id, day in product(depot_ids, days)
    ]
    connection.execute(sa.insert(daily_counts), rows)


def correct_count(
    connection: sa.Connection, depot_id: str, day: date, orders: object
) -> None:
    """A later file has another count of a day."""
    of_day = daily_counts.c.depot_id == depot_id, daily_counts.c.service_on == day
    connection.execute(sa.update(daily_counts).where(*of_day).values(orders=orders))


def add_event(
    connection: sa.Connection,
    kind: str,
    first: date,
    last: date | None = None,
    **columns: Any,
) -> None:
    """An event from a day to another, or of one day; everywhere if no place is given."""
    row = {"kind": kind, "starts_on": first, "ends_on": last or first, "file_id": 1}
    connection.execute(sa.insert(events).values(**row | columns))


def midnight_after(day: date) -> datetime:
    """The end of a day in UTC."""
    return datetime.combine(day + timedelta(days=1), time(), UTC)


def count_fleet(engine: sa.Engine, n_depots: int = 2, n_days: int = DAYS) -> None:
    """A fleet whose demand has been counted at the end of its last day."""
    with engine.begin() as connection:
        add_fleet(connection, n_depots, n_days)
    counting.rebuild(engine, midnight_after(START + timedelta(days=n_days - 1)))


def forecast_table(rows: list[tuple[object, ...]]) -> pa.Table:
    """Forecasts in the order of the columns, as they are written."""
    named = [dict(zip(FORECAST_COLUMNS, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(
        [{**row, "made_at": row["made_at"].isoformat()} for row in named]
    )


def publish(connection: sa.Connection, *forecast_rows: dict[str, Any]) -> None:
    """Publishes the forecasts of these rows: each origin and model once, in their order."""
    for origin, version, live in dict.fromkeys(
        (row["origin_on"], row["model_version"], row["is_live"])
        for row in forecast_rows
    ):
        now = datetime.combine(origin + timedelta(days=1), time(4, 31), UTC)
        publications.publish(
            connection, origin, version, live=live, now=now, run_id=None
        )


UTC_ZONE = ZoneInfo("UTC")


def newest_panels(engine: sa.Engine) -> ReadPanels:
    """The panels of every origin up to the newest day, as a command reads them."""
    return shared_panels(engine, counting.default_origin(engine), UTC_ZONE)


def score_known_days(engine: sa.Engine) -> int:
    """Scores what is known, as a command does."""
    return scoring.score_known_days(engine, newest_panels(engine))


def judge(
    engine: sa.Engine, artefacts: Path, version: str | None = None
) -> PromotionDecision:
    """Promotes or rejects a challenger, by default the newest, as a command does."""
    panels, day = newest_panels(engine), counting.default_origin(engine)
    return promotion.promote_if_better(engine, artefacts, panels, version or day)


def forecast_from(
    engine: sa.Engine,
    artefacts: Path,
    origin: date,
    now: datetime,
    zone: ZoneInfo,
    run: Run | None = None,
    point: PointFor = DEFAULT_POINT,
) -> str:
    """Forecasts as a command does."""
    panels = shared_panels(engine, origin, zone)
    with nullcontext(run) if run else recorded(engine, "forecast", origin) as own:
        settings = SimpleNamespace(artefacts=artefacts, zone=zone, point=point)
        return forecast.forecast_from(own, settings, origin, now, panels)
