"""The plan as an Excel workbook: depots × days of vans, drivers and orders."""

from io import BytesIO

import pandas as pd
import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from dashboard.planning import planning
from dashboard.tables import tables
from dashboard.text import formatting

# Text stays text: no cell becomes a formula or a link.
OPTIONS = {
    "in_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "nan_inf_to_errors": True,
}
CLOSED = "closed"
GRIDS = {
    "Vans": "allocated", "Vans short": "short", "Drivers": "drivers", "Orders": "point",
}  # fmt: skip
"""Sheets of depots × days, and their column of the plan."""
MIN_WIDTH, MAX_WIDTH = 12, 40
"""Characters."""


def plan(plan: pd.DataFrame, days: pd.DataFrame) -> bytes:
    """The workbook of `planning.make_plan` and its `by_city`, to be printed a page wide.

    Returns:
      The file: the sheets Cities, Vans, Vans short, Drivers, Orders (depots × days), Vans
      to move, Changes (since the previous forecast, and by planners) and Data (everything).
    """
    plan = with_short(plan, days)
    file = BytesIO()
    with xlsxwriter.Workbook(file, OPTIONS) as book:
        head = book.add_format({"bold": True, "bottom": 1, "text_wrap": True})
        day = book.add_format({"num_format": "ddd d mmm yyyy", "align": "left"})
        _table(book.add_worksheet("Cities"), tables.city_plan(days), head, day)
        for name, column in GRIDS.items():
            _table(book.add_worksheet(name), grid(plan, column), head, day)
        _table(book.add_worksheet("Vans to move"), moves(plan), head, day)
        _table(book.add_worksheet("Changes"), changes(plan), head, day)
        _table(book.add_worksheet("Data"), tables.plan(plan), head, day)
    return file.getvalue()


def with_short(plan: pd.DataFrame, days: pd.DataFrame) -> pd.DataFrame:
    """The plan with `short`, the vans a depot lacks on the days its city is short of vans."""
    is_short = days.set_index(["city", "target_on"])["short"] > 0
    keys = pd.MultiIndex.from_frame(plan[["city", "target_on"]])
    lacking = plan["needed"] - plan["allocated"]
    return plan.assign(short=lacking.where(is_short.reindex(keys).to_numpy(), 0))


def moves(plan: pd.DataFrame) -> pd.DataFrame:
    """The vans that move between the depots of each city, a row for each transfer."""
    rows = [
        (city, day, each.from_depot, each.to_depot, each.vans)
        for city, own in plan.groupby("city")
        for day, transfers in planning.transfers_by_day(own).items()
        for each in transfers
    ]
    return pd.DataFrame(rows, columns=["City", "Day", "From", "To", "Vans"])


def grid(plan: pd.DataFrame, column: str) -> pd.DataFrame:
    """A column of the plan as depots × days, with the totals of each city first.

    Whole numbers, rounded after they are added up (of orders, the planned total); "closed"
    where a depot is closed, missing where it has no such day.
    """
    keys = ["city", "name", "depot_id"]
    wide = plan.pivot_table(column, keys, "target_on", aggfunc="sum")
    summed = "part" if column == "point" else column
    totals = plan.pivot_table(summed, "city", "target_on", aggfunc="sum")
    totals.index = pd.MultiIndex.from_tuples(
        [(city, "", "") for city in totals.index], names=keys
    )
    both = pd.concat([totals, wide]).sort_index().round().astype("Int64")
    closed = plan.assign(is_closed=(plan["basis"] == "closed") & ~plan["is_set"])
    is_closed = closed.pivot_table("is_closed", keys, "target_on", aggfunc="any")
    is_closed = is_closed.reindex(both.index).fillna(False).astype(bool)
    both = both.astype(object).mask(is_closed, CLOSED).reset_index()
    both["name"] = both["name"].where(both["depot_id"] != "", "All depots")
    headings = {"city": "City", "name": "Depot", "depot_id": "Depot id"}
    return both.rename(columns=lambda name: headings.get(name) or formatting.day(name))


def changes(plan: pd.DataFrame) -> pd.DataFrame:
    """The days whose planned number differs from the previous forecast, largest first."""
    difference = plan["point"].round() - plan["point_before"].round()
    changed = plan.assign(difference=difference)[difference.fillna(0) != 0]
    order = (
        changed["difference"].abs().sort_values(ascending=False, kind="stable").index
    )
    return tables.display(
        changed.loc[order], "city", "name", "target_on", "point_before", "model_point", "point",
        "difference", "override_reason", "made_by", point="Planned",
    )  # fmt: skip


def _table(sheet: Worksheet, table: pd.DataFrame, head: Format, day: Format) -> None:
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
