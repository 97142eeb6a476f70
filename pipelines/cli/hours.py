"""Output of `harbor forecast --hourly` and `harbor forecast --today`."""

from collections.abc import Hashable
from datetime import date
from math import isnan
from typing import TYPE_CHECKING, Any

from pipelines.cli.console import show_table

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def as_rows(table: "pa.Table", origin: date, version: str) -> list[dict[str, Any]]:
    """Rows of `hours.forecast_hours` for JSON and CSV, with their origin and model version."""
    named = {"origin_on": origin, "model_version": version}
    rows = table.drop_columns(["city"]).to_pylist()
    return [{**row, "starts_at": row["starts_at"].isoformat(), **named} for row in rows]


def show_hours(table: "pa.Table") -> None:
    """Prints the orders planned in each hour, a table for each city."""
    hours = table.to_pandas()
    for city, own in hours.groupby("city"):
        wide = own.pivot_table("planned", "hour", "target_on", aggfunc="sum")
        show_table(
            f"Orders planned by hour in {city}",
            ("hour", *(f"{day:%a %d %b}" for day in wide.columns)),
            [
                (
                    f"{hour:02d}–{hour + 1:02d}",
                    # NaN: a clock change skips the hour.
                    *("–" if isnan(orders) else f"{orders:,.0f}" for orders in row),
                )
                for hour, row in zip(wide.index, wide.to_numpy(), strict=True)
            ],
        )


def _place(row: dict[Hashable, Any]) -> str:
    """Name of a row of `running_cities`; a city that lacks depots is marked as partial."""
    from pipelines.planning.words import count

    name = row["city"] or "all depots"
    return name if row["is_whole"] else f"{name} (only {count(row['depots'], 'depot')})"


def show_today(cities: "pd.DataFrame") -> None:
    """Prints the running day as a table: orders so far, estimate, band and forecast."""
    from pipelines.planning.words import clock

    show_table(
        "Today so far (the estimate is of the whole day; 80 % of days end within its band)",
        ("", "day", "until", "orders so far", "usual by then", "estimate", "band", "forecast"),
        [
            (
                _place(row),
                f"{row['target_on']:%a %d %b}",
                clock(row["until_hour"]),
                f"{row['orders_so_far']:,.0f}",
                f"{row['usual_share']:.0%}".replace("%", " %"),
                f"{row['estimate']:,.0f}",
                f"{row['p10']:,.0f}–{row['p90']:,.0f}",
                f"{row['forecast']:,.0f}",
            )
            for row in cities.to_dict("records")
        ],
    )  # fmt: skip
