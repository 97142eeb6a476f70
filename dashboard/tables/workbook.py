"""Pages as Excel workbooks: the sheets of each page, and their format."""

from collections.abc import Mapping
from io import BytesIO
from zoneinfo import ZoneInfo

import pandas as pd
import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from dashboard.planning import van_plan
from dashboard.tables import display_tables, html_tables
from dashboard.text import formatting, plan_summaries, summaries
from pipelines.planning.van_plan import DRIVERS, Plan
from pipelines.planning.words import decision_words, hour

Sheets = dict[str, tuple[str, pd.DataFrame]]
"""Sheets by name: a description, which the first sheet shows, and a table."""
Formats = Mapping[str, Format]
README = "Read me"
# Text stays text: no cell becomes a formula or a link.
OPTIONS = {
    "in_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "nan_inf_to_errors": True,
}
CLOSED = "closed"
TOTALS = ("All depots", "All cities")
"""Names of rows of totals, which are last and bold."""
FORMATS = {
    "head": {"bold": True, "bottom": 1, "text_wrap": True, "bg_color": "#e3f0f4", "num_format": "ddd d mmm"},
    "total": {"bold": True, "num_format": "#,##0"},
    "number": {"num_format": "#,##0"},
    "day": {"num_format": "ddd d mmm yyyy", "align": "left"},
    "time": {"num_format": "ddd d mmm yyyy hh:mm", "align": "left"},
    "percent": {"num_format": "0.0 %"},
    # Values are rounded down, or 99.5 %, so that cells read as on the pages.
    "chance": {"num_format": '[>0.99]"> 99 %";[<0.01]"< 1 %";0 %'},
}  # fmt: skip
CITY_COLUMNS = (
    "city", "target_on", "point", "model_point", "needed", "vans", "short",
    "drivers", "drivers_needed", "undelivered", "delivery_probability", "extra", "off_road", "kind", "made_by", "made_at",
    "note",
)  # fmt: skip
CITY_HEADINGS = {
    "point": "Planned orders", "short": "Short", "undelivered": "Late orders", "made_by": "Decided by",
    "kind": "Decision", "extra": "Hired vans", "off_road": "Off the road",
}  # fmt: skip
DATA_COLUMNS = (
    "city", "name", "depot_id", "target_on", "point", "model_point", "point_before",
    "vans", "allocated", "needed", "drivers", "drivers_needed", "undelivered", "delivery_probability", "override_reason", "made_by",
)  # fmt: skip
CHANCE, DECIDED_AT = display_tables.HEADINGS["delivery_probability"], "Decided at"
GRIDS = {
    "Vans": ("allocated", "Each depot's part of its city's vans"),
    "Short (vans moved)": ("short", "Vans short of the need, if vans are moved between depots"),
    "Short (none moved)": (
        "short_alone", "Vans short at each depot for its own service level, if none is moved",
    ),
    "Drivers": ("drivers", "Drivers of these vans"),
    "Orders": ("point", f"Planned orders, planners' numbers among them. {summaries.TOTALS_NOTE}"),
}  # fmt: skip
"""Sheets of depots × days: the column of `Plan.depots`, and a description."""
MIN_WIDTHS, MAX_PIXELS = {"day": 17, "time": 23}, 290
"""Minimum widths of columns in characters, and the maximum in pixels."""
SHIFT_COLUMNS = {
    "city": "City", "target_on": "Day", "shift": "Shift", "orders": "Planned orders",
    "vans": "Need", "short": "Short", "drivers": "Drivers", "drivers_needed": "Drivers needed", "busiest_hour": "Busiest hour of the day",
    "busiest_orders": "Orders in that hour",
}  # fmt: skip


def plan_sheets(plan: Plan, zone: ZoneInfo) -> Sheets:
    """The sheets of a plan of one city or of all; times are in `zone`."""
    days = pd.concat([plan.cities, _all_cities(plan.cities)], ignore_index=True)
    made_at = pd.to_datetime(days["made_at"], utc=True).dt.tz_convert(zone)
    made_at = made_at.dt.tz_localize(None).dt.floor("min")
    decided = [
        decision_words(day) if day["made_by"] else "" for day in days.to_dict("records")
    ]
    all_shifts = "" if plan.shifts.empty else ", all shifts"
    cities = display_tables.display(
        days.assign(made_at=made_at, kind=decided),
        *CITY_COLUMNS,
        **CITY_HEADINGS,
        made_at=f"{DECIDED_AT} ({zone.key})",
        drivers=f"Drivers{all_shifts}",
        drivers_needed=f"Drivers needed{all_shifts}",
    )
    every_day = display_tables.display(plan.every_day, "city", "delivery_probability")
    sheets = {
        "Cities": ("Vans (need, have, short) and orders of each city and day; cities lend each other no vans", cities),
        "Every day": ("The chance of full delivery on every day: one number for each city. On all sheets, the value of “> 99 %” is 99.5 %", every_day),
    }  # fmt: skip
    if not plan.shifts.empty:
        # Usual shifts, which nobody has set, have no shortage; that empty column is left out.
        own = plan.shifts.dropna(axis="columns", how="all")
        own = own.assign(busiest_hour=own["busiest_hour"].map(hour))
        columns = [each for each in SHIFT_COLUMNS if each in own]
        by_shift = display_tables.display(own, *columns, **SHIFT_COLUMNS)
        sheets["Shifts"] = "Vans and drivers by shift", by_shift
    # With shifts, drivers are counted by shift: drivers by depot would have another sum.
    by_day = set(DRIVERS) if not plan.shifts.empty else set()
    for name, (column, sentence) in GRIDS.items():
        if column not in by_day:
            sheets[name] = sentence, grid(plan.depots, column)
    columns = [each for each in DATA_COLUMNS if each not in by_day]
    chance = plan.depots["delivery_probability"].where(plan.depots["needed"] > 0)
    depots = plan.depots.assign(delivery_probability=chance)
    everything = display_tables.display(
        depots, *columns, vans="Own vans", undelivered="Late orders"
    )
    return sheets | {
        "Vans to move": ("Vans that change depots, by day", moves(plan.depots)),
        "Data": ("A row for each depot and day; its chance is that the vans planned there carry its orders, without the city's spare ones", everything),
    }  # fmt: skip


def _all_cities(days: pd.DataFrame) -> pd.DataFrame:
    """The sums of `Plan.cities` by day, as on page Plan, without chances; no rows for one city."""
    if days["city"].nunique() == 1:
        return days[:0]
    counts = days.drop(columns="delivery_probability")
    sums = counts.groupby("target_on").sum(numeric_only=True, skipna=False)
    late = plan_summaries.late_orders(days)
    return sums.assign(undelivered=late, city=TOTALS[1], made_by="").reset_index()


def week_sheets(depots: pd.DataFrame) -> Sheets:
    """The sheets of the days ahead; `depots` are rows of `queries.fleet_week`."""
    return {
        "Orders": (GRIDS["Orders"][1], grid(depots, "point")),
        "Data": ("A row for each depot and day", display_tables.fleet_week(depots)),
    }


def depot_sheets(depots: pd.DataFrame, numbers: pd.DataFrame) -> Sheets:
    """The sheet of page Depots, in its order; arguments as `html_grids.depots`."""
    outside = numbers["is_off"].map({True: "yes", False: ""})
    told = numbers.assign(is_off=outside).drop(columns=["was_closed", "place"])
    names = {"status": "Status", "is_off": html_tables.OUTSIDE, "closed_on": "Closed"}
    table = display_tables.display(depots, "city", "name", "depot_id")
    table = table.join(told.rename(columns=names), "Depot id")
    return {"Depots": ("Planned orders, and percentages as on the page", table)}


def one_depot_sheets(
    ahead: pd.DataFrame, past: pd.DataFrame, days: pd.DataFrame
) -> Sheets:
    """The sheets of one depot: days ahead, if any, past days, and the orders of `queries.depot_days`."""
    noted = days.assign(notes=[", ".join(each) for each in formatting.day_notes(days)])
    sheets: Sheets = {
        "Past days": ("The last forecast of each day, and its orders", past),
        "Orders": ("Orders of each day", display_tables.past_orders(noted)),
    }
    if ahead.empty:
        return sheets
    table = display_tables.display(
        ahead, "day_on", "point", "model_point", "p10", "p90", "allocated", "needed", "undelivered", "week_before",
        "year_before", "basis", "override_reason", "made_by", day_on="Day", year_before="Last year", undelivered="Late orders",
    )  # fmt: skip
    first = "Planned orders with their 80 % band, and vans", table
    return {"Days ahead": first, **sheets}


def write(about: Mapping[str, str], sheets: Sheets) -> bytes:
    """Bytes of a workbook that prints one page wide; its first sheet describes the others.

    Args:
      about: Lines of the first sheet: label and text.
      sheets: The other sheets.
    """
    contents = [*about.items(), *((name, sheets[name][0]) for name in sheets)]
    readme = pd.DataFrame(contents, columns=["Harbor Fleet", ""])
    file = BytesIO()
    with xlsxwriter.Workbook(file, OPTIONS) as book:
        formats = {name: book.add_format(each) for name, each in FORMATS.items()}
        for name, (_, table) in {README: ("", readme), **sheets}.items():
            sheet = book.add_worksheet(name)
            _write(sheet, table, formats)
            if name != README:
                _mark_totals(sheet, table, formats["total"])
            sheet.autofit(MAX_PIXELS)
    return file.getvalue()


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
    """A column of `Plan.depots` as depots × days, followed by the totals of each city and of all.

    Whole numbers, rounded after summing (for orders, to the planned total); "closed" where a depot
    is closed, missing where it has no forecast.
    """
    headings = {"city": "City", "name": "Depot", "depot_id": "Depot id"}
    keys = list(headings)
    wide = depots.pivot_table(column, keys, "target_on", aggfunc="sum")
    summed = "part" if column == "point" else column
    totals = depots.pivot_table(summed, "city", "target_on", aggfunc="sum")
    if len(totals) > 1:
        totals.loc[TOTALS[1]] = totals.sum()
    totals.index = pd.MultiIndex.from_tuples(
        [(city, TOTALS[0], "") for city in totals.index], names=keys
    )
    both = pd.concat([wide, totals]).round().astype("Int64")
    closed = depots.assign(is_closed=(depots["basis"] == "closed") & ~depots["is_set"])
    is_closed = closed.pivot_table("is_closed", keys, "target_on", aggfunc="any")
    is_closed = is_closed.reindex(both.index).fillna(False).astype(bool)
    both = both.astype(object).mask(is_closed, CLOSED).reset_index()
    return both.rename(columns=headings)


def _write(sheet: Worksheet, table: pd.DataFrame, formats: Formats) -> None:
    """Writes a table with its headings frozen, in columns as wide as their texts."""
    for place, name in enumerate(table.columns):
        values, style = table[name], ""
        if pd.api.types.is_datetime64_any_dtype(values):
            style = "time" if name.startswith(DECIDED_AT) else "day"
        elif pd.api.types.is_float_dtype(values):
            values = (values / 100).round(9)  # a column is as wide as its digits
            style = "chance" if name == CHANCE else "percent"
        sheet.set_column(place, place, MIN_WIDTHS.get(style, 12), formats["number"])
        sheet.write(0, place, name, formats["head"])
        for row, value in enumerate(values, start=1):
            if pd.isna(value) or value == "":
                continue
            write = sheet.write_string if isinstance(value, str) else sheet.write
            write(row, place, value, formats.get(style))
    sheet.freeze_panes(1, 0)
    sheet.set_landscape()
    sheet.set_paper(9)
    sheet.fit_to_pages(1, 0)
    sheet.repeat_rows(0)
    sheet.set_footer("&L&F, &A&CPrinted &D&R&P of &N")


def _mark_totals(sheet: Worksheet, table: pd.DataFrame, bold: Format) -> None:
    """Makes the totals at the end bold, and adds filters to the headings, for all other rows."""
    is_total = table.iloc[:, :2].isin(TOTALS).any(axis=1)
    for row in is_total.to_numpy().nonzero()[0]:
        sheet.set_row(1 + int(row), None, bold)
    sheet.autofilter(0, 0, int((~is_total).sum()), len(table.columns) - 1)
