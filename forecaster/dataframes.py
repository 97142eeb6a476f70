"""API for notebooks: forecasts a DataFrame with an artefact, without a database or JAX.

    from forecaster import load, forecast

    model = load("artefacts/20260722-d42b15bd.npz")
    forecast(model, orders)

Both are attributes of the package, imported when first used, so that serving needs no
pandas.
"""

import warnings
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd

from forecaster.config import DEFAULT_POINT, PointFor
from forecaster.data.features import CALENDAR_REACH
from forecaster.data.panel import Panel
from forecaster.data.panel_builder import build_panel
from forecaster.data.public_holidays import holidays_of
from forecaster.errors import BadInputError, NoDataError, shortened_list
from forecaster.inference import artefact, infer
from forecaster.inference.artefact import Artefact

LATE_DAYS = 14
"""Days without a count after which a depot is silent, not late; as `WAITED_FOR_DAYS` in
`pipelines.schema.depot_freshness`."""
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DEPOT_COLUMNS = (
    "city", "country", "subdivision", "opened_on", "closed_on", "closed_weekdays"
)  # fmt: skip
EVENT_COLUMNS = ("kind", "starts_on", "ends_on")
OPTIONAL_EVENT_COLUMNS = ("city", "depot_id", "value", "known_from")


def load(path: str | Path) -> Artefact:
    """Reads and verifies a trained model.

    Args:
      path: Path of an artefact, an `.npz` file in the folder `artefacts` of HARBOR_HOME;
        `harbor models show VERSION` prints its name.

    Raises:
      ArtefactError: the file is missing, truncated, changed or has another release's inputs.
    """
    return artefact.load(Path(path))


def forecast(
    model: Artefact,
    orders: pd.DataFrame,
    events: pd.DataFrame | None = None,
    *,
    depots: pd.DataFrame | None = None,
    point: PointFor = DEFAULT_POINT,
) -> pd.DataFrame:
    """Forecasts the days after the last one in a DataFrame, for each of its depots.

    Args:
      model: From `load`.
      orders: depot_id, date, orders (NaN where not observed; a missing row means the same).
        More history, up to two years, improves the forecast.
      events: kind, starts_on, ends_on; optional depot_id, city (neither: everywhere), value,
        known_from. Kind `closed` marks closed days.
      depots: depot_id; optional city, country, subdivision, opened_on, closed_on,
        closed_weekdays (as "sat,sun"). Public holidays follow from country and subdivision;
        there are none without a country.
      point: Criterion of the point forecast, see `config.POINT_SHIFTS`.

    Returns:
      depot_id, origin_on, target_on, p10, p50, p90, point (orders per day, never NaN), basis
      (`model`, `cold_start` or `closed`): one row per depot and day, in order.

    Raises:
      BadInputError: a column is missing, orders are negative, a depot has a day twice or is
        described twice, or a weekday is unknown.
      NoDataError: no depot has been observed.
    """
    demand = _demand(orders)
    depot_table = _depots(demand, depots)
    observed = demand[demand["orders"].notna()]
    if observed.empty:
        raise NoDataError(
            "orders has no observed day. Give at least two weeks of them."
        )
    origin = observed["service_on"].max().date()
    ahead = model.horizon + CALENDAR_REACH
    panel = build_panel(
        depot_table,
        demand,
        _events(events),
        _holidays(depot_table, observed["service_on"].min().date(), origin),
        origin,
        ahead,
    )
    result = infer.forecast(model, panel, _missing_days(panel), point)
    steps = np.arange(1, model.horizon + 1)
    targets = pd.Timestamp(origin) + pd.to_timedelta(steps, unit="D")
    return pd.DataFrame(
        {
            "depot_id": np.repeat(np.array(panel.depot_ids, object), model.horizon),
            "origin_on": pd.Timestamp(origin),
            "target_on": np.tile(targets, panel.n_depots),
            "p10": result.p10_dh.ravel(),
            "p50": result.p50_dh.ravel(),
            "p90": result.p90_dh.ravel(),
            "point": result.point_dh.ravel(),
            "basis": result.basis_dh.ravel(),
        }
    )


def _missing_days(panel: Panel) -> dict[str, int]:
    """Number of newest open days without a count of the depots that are late, as in a night."""
    step_t, end = np.arange(panel.n_steps), panel.n_steps
    last_d1 = np.where(panel.observed_dt, step_t, -1).max(axis=1, keepdims=True)
    is_missing_dt = ~panel.closed_dt[:, :end] & (step_t > last_d1)
    missing_d = is_missing_dt[:, -LATE_DAYS:].sum(axis=1)
    is_late_d = (missing_d > 0) & (last_d1[:, 0] >= max(0, end - 1 - LATE_DAYS))
    return {
        panel.depot_ids[row]: int(missing_d[row]) for row in np.flatnonzero(is_late_d)
    }


def _require_columns(frame: pd.DataFrame, name: str, columns: Sequence[str]) -> None:
    if missing := [column for column in columns if column not in frame]:
        raise BadInputError(
            f"{name} has no column {shortened_list(missing)} (found: "
            f"{shortened_list(frame.columns)}). Rename one."
        )


def _local_days(days: pd.Series) -> pd.Series:
    """The days as they are written: a time zone is dropped, not converted to UTC."""
    return pd.to_datetime(days).dt.tz_localize(None).dt.normalize()


def _demand(orders: pd.DataFrame) -> pd.DataFrame:
    _require_columns(orders, "orders", ("depot_id", "date", "orders"))
    demand = pd.DataFrame(
        {
            "depot_id": orders["depot_id"].astype(str),
            "service_on": _local_days(orders["date"]),
            "orders": orders["orders"].astype(float),
        }
    )
    unnamed = demand[demand[["depot_id", "service_on"]].isna().any(axis=1)]
    if not unnamed.empty:
        raise BadInputError(
            f"orders lacks a depot_id or a date in {len(unnamed)} of {len(demand)} rows. "
            "Complete these rows, or leave them out."
        )
    negative = demand[demand["orders"] < 0]
    if not negative.empty:
        first = negative.iloc[0]
        raise BadInputError(
            f"orders has {first['orders']:g} for {first['depot_id']} on "
            f"{first['service_on'].date()}. Write NaN where a day is not known."
        )
    twice = demand[demand.duplicated(["depot_id", "service_on"])]
    if not twice.empty:
        first = twice.iloc[0]
        raise BadInputError(
            f"orders has {first['depot_id']} on {first['service_on'].date()} twice, and "
            f"{len(twice)} such rows in all. Add them up, or keep the last."
        )
    return demand


def _depots(demand: pd.DataFrame, depots: pd.DataFrame | None) -> pd.DataFrame:
    """One row per depot of the demand, with the columns that `build_panel` needs."""
    table = pd.DataFrame({"depot_id": sorted(demand["depot_id"].unique())})
    if depots is not None:
        _require_columns(depots, "depots", ("depot_id",))
        described = depots.assign(depot_id=depots["depot_id"].astype(str))
        twice = described["depot_id"][described["depot_id"].duplicated()]
        if not twice.empty:
            raise BadInputError(
                f"depots has {shortened_list(twice.unique())} twice. Keep one row for each."
            )
        table = table.merge(described, on="depot_id", how="left")
    table = table.reindex(columns=["depot_id", *DEPOT_COLUMNS]).astype(object)
    table = table.fillna({"city": "", "country": ""})
    weekdays = pd.Series(map(_iso_weekdays, table["closed_weekdays"]), dtype=object)
    return table.assign(closed_weekdays=weekdays)


def _iso_weekdays(text: object) -> list[int]:
    """ISO weekdays of a text such as 'sat,sun', or of a list of them; Monday is 1."""
    if isinstance(text, (list, tuple, np.ndarray)):
        # As `harbor depots list --json` prints them.
        if not all(day in range(1, 8) for day in text):
            raise BadInputError(
                f"closed_weekdays has {list(text)}, but a list has weekdays from 1 (Monday) to 7."
            )
        return [int(day) for day in text]
    names = text.split(",") if isinstance(text, str) else []
    days = [name.strip().lower()[:3] for name in names if name.strip()]
    if unknown := [day for day in days if day not in WEEKDAYS]:
        raise BadInputError(
            f"closed_weekdays has {shortened_list(unknown)}, which is no weekday. Write days "
            "as in 'sat,sun'."
        )
    return [WEEKDAYS.index(day) + 1 for day in days]


def _events(events: pd.DataFrame | None) -> pd.DataFrame:
    if events is None:
        events = pd.DataFrame(columns=[*EVENT_COLUMNS, *OPTIONAL_EVENT_COLUMNS])
    _require_columns(events, "events", EVENT_COLUMNS)
    absent = [name for name in OPTIONAL_EVENT_COLUMNS if name not in events]
    events = events.assign(**dict.fromkeys(absent)).astype({"value": float})
    # As text, like the depots of the orders; a missing one stays missing.
    depot_id = events["depot_id"]
    return events.assign(
        depot_id=depot_id.convert_dtypes().astype(str).where(depot_id.notna(), None),
        # The column of a frame without rows may be of numbers.
        kind=events["kind"].astype(object).str.lower(),
    )


def _holidays(depots: pd.DataFrame, first: date, last: date) -> pd.DataFrame:
    """Public holidays of every region, through the year after the origin's."""

    def warn(country: str, subdivision: str) -> None:
        place = "-".join(filter(None, (country, subdivision)))
        warnings.warn(f"The public holidays of {place} are not known.", stacklevel=4)

    years = range(first.year, last.year + 2)
    regions = depots[["country", "subdivision"]].fillna("").drop_duplicates()
    rows = [
        (country, subdivision, day, name)
        for country, subdivision in regions.itertuples(index=False)
        if country
        for day, name in holidays_of(country, subdivision, years, warn).items()
    ]
    return pd.DataFrame(rows, columns=["country", "subdivision", "day_on", "name"])
