"""The plan as an Excel workbook: depots × days of vans, drivers and orders."""

from io import BytesIO

import pandas as pd
import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from dashboard.planning import van_plan
from dashboard.planning.van_plan import Plan
from dashboard.tables import display_tables
from dashboard.text import formatting

# Text stays text: no cell becomes a formula or a link.
OPTIONS = {
    "in_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "nan_inf_to_errors": True,
}
CLOSED = "closed"
CITY_COLUMNS = (
    "city", "target_on", "point", "model_point", "needed", "vans", "short", "drivers",
    "undelivered", "delivery_probability",
)  # fmt: skip
DATA_COLUMNS = (
    "city", "name", "depot_id", "target_on", "point", "model_point", "vans", "allocated",
    "needed", "drivers", "undelivered", "delivery_probability", "override_reason", "made_by",
)  # fmt: skip
GRIDS = {
    "Vans": "allocated", "Short (vans moved)": "short", "Short (none moved)": "short_alone",
    "Drivers": "drivers", "Orders": "point",
}  # fmt: skip
"""Sheets of depots × days, and their column of the plan."""
MIN_WIDTH, MAX_WIDTH = 12, 40
"""Characters."""


SHIFT_COLUMNS = {
    "city": "City", "target_on": "Day", "shift": "Shift", "orders": "Planned orders",
    "vans": "Need", "short": "Short", "drivers": "Drivers", "busiest_hour": "Busiest hour of the day",
    "busiest_orders": "Orders in that hour",
}  # fmt: skip


def plan_workbook(plan: Plan, shifts: pd.DataFrame) -> bytes:
    """A plan as a workbook, to be printed a page wide.

    Args:
      plan: Of one city or of all.
      shifts: `hours.shifts.by_shift` of them; empty where orders have no times.

    Returns:
      The file: the sheets Cities, Every day, Shifts (where there are any), Vans, Short (vans moved), Short (none moved), Drivers,
      Orders (depots × days), Vans to move, Changes (since the previous forecast, and by
      planners) and Data (everything).
    """
    depots = with_short(plan.depots)
    file = BytesIO()
    with xlsxwriter.Workbook(file, OPTIONS) as book:
        head = book.add_format({"bold": True, "bottom": 1, "text_wrap": True})
        day = book.add_format({"num_format": "ddd d mmm yyyy", "align": "left"})
        tables = {
            "Cities": display_tables.display(plan.cities, *CITY_COLUMNS),
            "Every day": display_tables.display(
                plan.every_day, "city", "delivery_probability"
            ),
            **({} if shifts.empty else {"Shifts": _shift_sheet(shifts)}),
            **{name: grid(depots, column) for name, column in GRIDS.items()},
            "Vans to move": moves(plan.depots),
            "Changes": changes(plan.depots),
            "Data": display_tables.display(depots, *DATA_COLUMNS, vans="Own vans"),
        }
        for name, table in tables.items():
            _write(book.add_worksheet(name), table, head, day)
    return file.getvalue()


def _shift_sheet(shifts: pd.DataFrame) -> pd.DataFrame:
    rounded = shifts.round({"orders": 0, "busiest_orders": 0})
    return rounded[list(SHIFT_COLUMNS)].rename(columns=SHIFT_COLUMNS)


def with_short(depots: pd.DataFrame) -> pd.DataFrame:
    """`Plan.depots` with the vans that each depot lacks, if vans are moved and if none is.

    `short` adds up to the city's; `short_alone` is what the depot's vans of the day lack for
    the service level at this depot.
    """
    alone = (depots["needed_alone"] - depots["allocated"]).clip(lower=0)
    return depots.assign(
        short=depots["needed"] - depots["allocated"], short_alone=alone
    )


def moves(depots: pd.DataFrame) -> pd.DataFrame:
    """The vans that move between the depots of each city, a row for each transfer."""
    rows = [
        (city, day, each.from_depot, each.to_depot, each.vans)
        for city, own in depots.groupby("city")
        for day, transfers in van_plan.transfers_by_day(own).items()
        for each in transfers
    ]
    return pd.DataFrame(rows, columns=["City", "Day", "From", "To", "Vans"])


def grid(depots: pd.DataFrame, column: str) -> pd.DataFrame:
    """A column of `Plan.depots` as depots × days, with the totals of each city first.

    Whole numbers, rounded after they are added up (of orders, the planned total); "closed"
    where a depot is closed, missing where it has no such day.
    """
    keys = ["city", "name", "depot_id"]
    wide = depots.pivot_table(column, keys, "target_on", aggfunc="sum")
    summed = "part" if column == "point" else column
    totals = depots.pivot_table(summed, "city", "target_on", aggfunc="sum")
    totals.index = pd.MultiIndex.from_tuples(
        [(city, "", "") for city in totals.index], names=keys
    )
    both = pd.concat([totals, wide]).sort_index().round().astype("Int64")
    closed = depots.assign(is_closed=(depots["basis"] == "closed") & ~depots["is_set"])
    is_closed = closed.pivot_table("is_closed", keys, "target_on", aggfunc="any")
    is_closed = is_closed.reindex(both.index).fillna(False).astype(bool)
    both = both.astype(object).mask(is_closed, CLOSED).reset_index()
    both["name"] = both["name"].where(both["depot_id"] != "", "All depots")
    headings = {"city": "City", "name": "Depot", "depot_id": "Depot id"}
    return both.rename(columns=lambda name: headings.get(name) or formatting.day(name))


def changes(depots: pd.DataFrame) -> pd.DataFrame:
    """The days whose planned number differs from the previous forecast, largest first."""
    difference = depots["point"].round() - depots["point_before"].round()
    changed = depots.assign(difference=difference)[difference.fillna(0) != 0]
    order = (
        changed["difference"].abs().sort_values(ascending=False, kind="stable").index
    )
    return display_tables.display(
        changed.loc[order], "city", "name", "target_on", "point_before", "model_point", "point",
        "difference", "override_reason", "made_by",
    )  # fmt: skip


def _write(sheet: Worksheet, table: pd.DataFrame, head: Format, day: Format) -> None:
    """Writes a table with its headings frozen, in columns as wide as their texts."""
    for place, name in enumerate(table.columns):
        values = table[name]
        is_day = pd.api.types.is_datetime64_any_dtype(values)
        texts = [] if is_day else [str(value) for value in values[:200]]
        longest = max(map(len, [str(name), *texts]))
        sheet.set_column(place, place, min(max(longest + 1, MIN_WIDTH), MAX_WIDTH))
        sheet.write_string(0, place, str(name), head)
        for row, value in enumerate(values, start=1):
            if pd.isna(value):
                continue
            if is_day:
                sheet.write_datetime(row, place, value.to_pydatetime(), day)
            elif isinstance(value, str):
                sheet.write_string(row, place, value)
            else:
                sheet.write_number(row, place, float(value))
    sheet.freeze_panes(1, 0)
    sheet.set_landscape()
    sheet.set_paper(9)
    sheet.fit_to_pages(1, 0)
    sheet.repeat_rows(0)
