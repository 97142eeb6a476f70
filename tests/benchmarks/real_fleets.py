"""The sample data sets as panels, read from their files without a database."""

from datetime import date
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd

from forecaster.data.panel import Panel
from forecaster.data.panel_builder import build_panel
from pipelines.demand.public_holidays import holidays_of

CALENDAR_DAYS_AHEAD = 77
EVENT_COLUMNS = [
    "kind", "starts_on", "ends_on", "city", "depot_id", "value", "known_from"
]  # fmt: skip
SIGNAL_COLUMNS = ["signal", "depot_id", "city", "day_on", "value", "known_from"]
MIN_BASE_DAYS = 90


def real_fleets(folder: Path) -> dict[str, Panel]:
    """Reads each sample data set that the folder has, by name.

    Args:
      folder: Has `chicago_l`, `bayarea_bikeshare`, `nyc_fhv_bases`, `nn5` and `bakery`, or
        some of them.
    """
    readers = {
        "chicago_l": _daily_counts,
        "bayarea_bikeshare": _bay_area,
        "nyc_fhv_bases": _new_york,
        "nn5": _daily_counts,
        "bakery": _daily_counts,
    }
    return {
        name: read(folder / name)
        for name, read in readers.items()
        if (folder / name).exists()
    }


def panel_of_rows(
    depots: pd.DataFrame,
    demand: pd.DataFrame,
    events: pd.DataFrame,
    signals: pd.DataFrame | None = None,
) -> Panel:
    """Builds the panel of tidy rows, with each country's public holidays.

    Args:
      depots: depot_id, city and country at least.
      demand: depot_id, service_on, orders.
      events: Columns `EVENT_COLUMNS`.
      signals: As `build_panel` takes them.
    """
    service_on = pd.to_datetime(demand["service_on"])
    first, last = service_on.min().date(), service_on.max().date()
    for column in ("opened_on", "closed_on"):
        depots[column] = pd.NaT
    depots["closed_weekdays"] = depots.get("closed_weekdays", [()] * len(depots))
    depots["subdivision"] = depots.get("subdivision", "")
    return build_panel(
        depots,
        demand.assign(service_on=service_on),
        events,
        _public_holidays(depots, first, last),
        last,
        CALENDAR_DAYS_AHEAD,
        signals,
    )


def no_events() -> pd.DataFrame:
    """Events of a fleet that announces none."""
    return pd.DataFrame(columns=EVENT_COLUMNS)


def _public_holidays(depots: pd.DataFrame, first: date, last: date) -> pd.DataFrame:
    years = range(first.year, last.year + 2)
    rows = [
        (country, subdivision, day, name)
        for country, subdivision in set(
            zip(depots["country"], depots["subdivision"], strict=True)
        )
        for day, name in holidays_of(country, subdivision, years).items()
    ]
    return pd.DataFrame(rows, columns=["country", "subdivision", "day_on", "name"])


def _daily_counts(folder: Path) -> Panel:
    """Daily counts, with the events and signals that the folder has."""
    depots = pd.read_csv(folder / "depots.csv", dtype=str, keep_default_na=False)
    demand = pd.read_parquet(folder / "daily.parquet").rename(
        columns={"date": "service_on"}
    )
    events, signals = folder / "events.csv", folder / "signals.csv.gz"
    return panel_of_rows(
        depots,
        demand,
        pd.read_csv(events).reindex(columns=EVENT_COLUMNS)
        if events.exists()
        else no_events(),
        _signals(signals) if signals.exists() else None,
    )


def _signals(path: Path) -> pd.DataFrame:
    """Signals that every origin knows, as the file says of none when it was known."""
    rows = pd.read_csv(path).rename(columns={"date": "day_on"})
    rows["day_on"] = pd.to_datetime(rows["day_on"])
    return rows.reindex(columns=SIGNAL_COLUMNS)


def _bay_area(folder: Path) -> Panel:
    """Trips per station and day; a day without a trip is 0 from a station's first day."""
    depots = pd.read_csv(folder / "depots.csv", dtype=str, keep_default_na=False)
    files = [pd.read_csv(path) for path in sorted(folder.glob("orders-*.csv"))]
    files += [pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))]
    orders = pd.concat(files)
    days = pd.to_datetime(orders["ordered_at"]).dt.normalize()
    counts = orders.groupby(["depot_id", days]).size().unstack(fill_value=0)
    counts = counts.reindex(
        columns=pd.date_range(counts.columns[0], counts.columns[-1]), fill_value=0
    )
    begun = np.cumsum(counts.to_numpy(), axis=1) > 0
    long = counts.where(begun).stack().rename("orders")
    demand = long.rename_axis(["depot_id", "service_on"]).reset_index()
    return panel_of_rows(depots, demand, no_events())


def _new_york(folder: Path) -> Panel:
    """Bases that reported on 90 days and up to the last week of July."""
    file = next(folder.glob("*.csv"))
    text = file.read_bytes().decode().replace("\r", "\n")
    rows = [line for line in text.splitlines() if "/2015" in line]
    frame = pd.read_csv(
        StringIO("\n".join(rows)), header=None, usecols=[1, 4, 5], dtype=str
    )
    frame.columns = pd.Index(["depot_id", "service_on", "orders"])
    frame["depot_id"] = frame["depot_id"].str.strip().str.upper()
    frame["service_on"] = pd.to_datetime(frame["service_on"].str.strip())
    frame["orders"] = pd.to_numeric(
        frame["orders"].str.replace(",", "").str.strip(), errors="coerce"
    )
    frame = frame[frame["service_on"] <= "2015-07-31"].dropna()
    frame = frame.groupby(["depot_id", "service_on"], as_index=False)["orders"].sum()
    of_base = frame.groupby("depot_id")["service_on"].agg(["size", "max"])
    regular = of_base[
        (of_base["size"] >= MIN_BASE_DAYS) & (of_base["max"] >= "2015-07-25")
    ]
    frame = frame[frame["depot_id"].isin(regular.index)]
    depots = pd.DataFrame({"depot_id": sorted(regular.index)})
    depots["city"], depots["country"], depots["subdivision"] = "New York", "US", "NY"
    return panel_of_rows(depots, frame, no_events())
