"""Publishes forecasts, totals and scores as Parquet, partitioned by origin as Hive does.

    forecasts/origin_on=2026-11-22/part-0.parquet    and _SUCCESS, written last
    totals/origin_on=2026-11-22/…
    scores/origin_on=2026-11-22/…
    hours/origin_on=2026-11-22/…                     where orders have times
    latest/forecasts/…                               the forecast that is shown
    latest/totals/… latest/hours/…
    _published.json                                  what was published, and from which state

Only changes are written: origins that were published again, and origins with new scores. Runs that
publish at the same time wait for each other. Changes that were missed while the destination was
unavailable are written later; files of origins that the database has pruned stay.
"""

import json
from collections import Counter
from collections.abc import Mapping
from datetime import date

import pyarrow as pa
import sqlalchemy as sa
from pyarrow import parquet

from pipelines.database.engine import snapshot
from pipelines.forecasting import hours
from pipelines.publishing.destination import Destination
from pipelines.schema import reader_views
from pipelines.store.published_states import FORECAST_STATES, SCORE_STATES, states
from pipelines.store.reader_views import (
    FORECAST_SCHEMA,
    SCORE_SCHEMA,
    TOTAL_SCHEMA,
    read_batches,
)

MANIFEST, SUCCESS, PART = "_published.json", "_SUCCESS", "part-0.parquet"
LATEST, HOURS = "latest", "hours"
FILES_LOCK = 0x4649_4C45  # "FILE"; one session at a time writes files
STATEMENTS = {
    "forecasts": (reader_views.FORECASTS, FORECAST_SCHEMA),
    "totals": (reader_views.TOTALS, TOTAL_SCHEMA),
    "scores": (reader_views.SCORES_OF_ORIGIN, SCORE_SCHEMA),
}
"""Statement and columns of each dataset."""


HAS_FORECAST = (
    "select exists (select from forecasts where cast(origin_on as text) = :origin)"
)
"""Whether an origin has forecasts that are not pruned."""


def publish_files(engine: sa.Engine, destination: Destination) -> dict[str, int]:
    """Brings the files of a destination up to date with the database.

    Returns:
      Number of origins written, by dataset.

    Raises:
      OSError: the destination cannot be read or written; files written before are complete.
    """
    written: Counter[str] = Counter()
    with snapshot(engine, FILES_LOCK) as connection:
        stored = destination.read(MANIFEST)
        manifest = _manifest_of(stored)
        try:
            _publish_changes(connection, destination, manifest, written)
        finally:
            # Else, after an error, the next attempt would write again what is whole already.
            content = json.dumps(manifest, indent=1, sort_keys=True).encode()
            if content != stored:
                destination.write(MANIFEST, content)
    return dict(written)


def _publish_changes(
    connection: sa.Connection,
    destination: Destination,
    manifest: dict[str, dict[str, str]],
    written: Counter[str],
) -> None:
    """Writes the files whose content has changed, and records each in the manifest."""
    shown = states(connection, FORECAST_STATES)
    scored = states(connection, SCORE_STATES)
    for dataset, now in (
        ("forecasts", shown), ("totals", shown), ("scores", scored),
    ):  # fmt: skip
        published = manifest.setdefault(dataset, {})
        for origin, (version, state) in now.items():
            if published.get(str(origin)) != state:
                table = _read(connection, dataset, origin, version)
                if dataset == "forecasts" and str(origin) in published:
                    # The hours published there belong to the forecast that is replaced.
                    _delete(destination, f"{HOURS}/origin_on={origin}")
                partition = f"{dataset}/origin_on={origin}"
                # Readers take origin_on from the path, and must not find it twice.
                _write(destination, partition, table.drop_columns(["origin_on"]))
                published[str(origin)] = state
                written[dataset] += 1
    # The folders, and not the manifest, have also what a run wrote that was killed meanwhile.
    still_scored = {f"origin_on={origin}" for origin in scored}
    for folder in sorted(destination.folders("scores") - still_scored):
        name = folder.removeprefix("origin_on=")
        # Its actuals were withdrawn; a pruned origin has no forecast any more.
        if connection.scalar(sa.text(HAS_FORECAST), {"origin": name}):
            _delete(destination, f"scores/{folder}")
            manifest["scores"].pop(name, None)
    _publish_latest(connection, destination, shown, manifest, written)


def _manifest_of(stored: bytes | None) -> dict[str, dict[str, str]]:
    """The stored manifest; if there is none, or it is damaged, empty: all is published again."""
    try:
        return {} if stored is None else dict(json.loads(stored))
    except (TypeError, ValueError):
        return {}


def _publish_latest(
    connection: sa.Connection,
    destination: Destination,
    states: Mapping[date, tuple[str, str]],
    manifest: dict[str, dict[str, str]],
    written: Counter[str],
) -> None:
    """Writes the forecast that is shown to the fixed path `latest`, and its hours."""
    shown = connection.execute(sa.text("select * from shown_forecast")).one_or_none()
    if shown is None or shown.origin_on not in states:
        return
    version, state = states[shown.origin_on]
    published = manifest.setdefault(LATEST, {})
    for dataset in ("forecasts", "totals"):
        if published.get(dataset) != state:
            table = _read(connection, dataset, shown.origin_on, version)
            _write(destination, f"{LATEST}/{dataset}", table)
            published[dataset] = state
    if published.get(HOURS) != state:
        table = hours.stored_hours(connection, shown.origin_on, version)
        if table.num_rows:
            _write(destination, f"{LATEST}/{HOURS}", table)
            _write(destination, f"{HOURS}/origin_on={shown.origin_on}", table)
            published[HOURS] = state
            written[HOURS] += 1
        else:
            # The hours published there belong to another forecast.
            _delete(destination, f"{LATEST}/{HOURS}")


def _read(
    connection: sa.Connection, dataset: str, origin: date, version: str
) -> pa.Table:
    statement, schema = STATEMENTS[dataset]
    parameters = {"origin": origin, "model": version}
    tables = list(read_batches(connection, statement, parameters, schema))
    table = pa.concat_tables(tables) if tables else schema.empty_table()
    keys = ("city", "depot_id", "target_on", "model_version")
    return table.sort_by([(key, "ascending") for key in keys if key in schema.names])


def _write(destination: Destination, folder: str, table: pa.Table) -> None:
    """Writes the one file of a folder; its marker is deleted before and written after."""
    destination.delete(f"{folder}/{SUCCESS}")
    buffer = pa.BufferOutputStream()
    parquet.write_table(table, buffer)
    destination.write(f"{folder}/{PART}", buffer.getvalue())
    destination.write(f"{folder}/{SUCCESS}", b"")


def _delete(destination: Destination, folder: str) -> None:
    """Deletes the one file of a folder, and its marker first."""
    for name in (SUCCESS, PART):
        destination.delete(f"{folder}/{name}")
