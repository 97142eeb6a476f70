"""Display tables of query results.

Whole numbers are orders or counts; floats are percentages. No I/O.
"""

from collections.abc import Hashable, Mapping
from datetime import date
from pathlib import PurePosixPath
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from dashboard.tables import html_tables
from dashboard.text import formatting, plan_summaries, summaries
from pipelines.planning.words import decision_words

HEADINGS = {
    "accepted": "New rows",
    "allocated": "Vans",
    "counted": "Forecasts",
    "coverage": html_tables.IN_BAND,
    "delivery_probability": "Chance of full delivery",
    "error": html_tables.ERROR,
    "error_share": html_tables.ERROR_SHARE,
    "made_by": "Changed by",
    "mape": "Off by",
    "model_point": "Model",
    "model_version": "Model",
    "naive_mape": "Same day last week",
    "name": "Depot",
    "needed": "Need",
    "override_reason": "Reason",
    "p10": "Planned low (P10)",
    "p90": "Planned high (P90)",
    "point": "Planned",
    "point_before": "Previous forecast",
    "rejected": "Rejected rows",
    "target_on": "Day",
    "unchanged": "Unchanged rows",
    "vans": "Have",
    "wape": "WAPE",
    "week_before": "Last week",
}
"""Headings of columns whose display name is not their own name."""
FRACTIONS = {
    "bias", "change", "coverage", "error_share", "mape", "naive_mape", "wape",
}  # fmt: skip
MISSES_NOTE = (
    "Error: the model's last forecast less the actual orders. Bold on grey: orders outside the "
    "80\N{NO-BREAK SPACE}% band."
)
OCCASION = "Holiday or event"
MANY_DAYS = 6
"""Fewest of the seven days before with an error in the same direction for a note to say so."""


def display(result: pd.DataFrame, *columns: str, **renamed: str) -> pd.DataFrame:
    """Columns of a query result under their headings, in the order given.

    Fractions become percentages, other floats whole numbers or missing. `renamed` has headings
    that replace those of `HEADINGS`.
    """
    headings = HEADINGS | renamed
    return pd.DataFrame(
        {
            headings.get(name, formatting.display_name(name)): _displayed(result[name])
            for name in columns
        }
    )


def _displayed(values: pd.Series) -> pd.Series:
    if values.name == "delivery_probability":
        # Rounded down, and never certain, as `words.chance` on pages; 99.5 for more than 99 %.
        return (100 * values + 1e-9).floordiv(1).mask(values > 0.99, 99.5)
    if values.name in FRACTIONS:
        return 100 * values
    if values.name == "basis":
        return values.map(formatting.BASES)
    if pd.api.types.is_float_dtype(values):
        return values.round().astype("Int64")
    return values


def fleet_week(depots: pd.DataFrame) -> pd.DataFrame:
    """Display table of `queries.fleet_week`."""
    return display(
        depots, "city", "name", "depot_id", "target_on", "point", "model_point", "p10",
        "p90", "basis", "week_before", "year_before", "change", "point_before", "override_reason", "made_by",
        year_before="52 weeks before", change="vs last 7 days",
    )  # fmt: skip


def accuracy(scores: pd.DataFrame, grain: str, heading: str) -> pd.DataFrame:
    """One grain of `queries.accuracy` with the naive MAPE; `heading` heads the grain's column."""
    rows = scores[scores["grain"] == grain].set_index(grain)
    naive = rows[rows["forecaster"] == "seasonal naive"]["mape"]
    table = rows[rows["forecaster"] == "forecast"].assign(naive_mape=naive)
    table = table.reset_index(names=heading)
    return display(table, heading, "mape", "naive_mape", "bias", "coverage", "counted")


def accuracy_by_week(scores: pd.DataFrame) -> pd.DataFrame:
    """The newest day of `queries.accuracy`, then its weeks, newest first; the newest week may be incomplete."""
    weeks = scores[scores["grain"] == "week"].sort_values("day_on", ascending=False)
    days = scores[scores["grain"].eq("day") & scores["mape"].notna()]
    newest = days[days["day_on"].eq(days["day_on"].max())]
    named = [formatting.day(day) for day in newest["day_on"]]
    for monday in weeks["day_on"]:
        week = monday, monday + 6 * formatting.A_DAY
        own = days.loc[days["day_on"].between(*week), "day_on"]
        # A week without orders has no scored day.
        ends = (own.min(), own.max()) if len(own) else (monday, monday)
        named.append(formatting.day_range(*ends))
    both = pd.concat([newest.assign(grain="week"), weeks]).assign(week=named)
    return accuracy(both.drop_duplicates(["week", "forecaster"]), "week", "Days")


def accuracy_measures(scores: pd.DataFrame) -> pd.DataFrame:
    """Every measure of `queries.accuracy` over all days, a row for each forecaster."""
    overall = scores[scores["grain"] == "all"]
    names = overall["forecaster"].replace("seasonal naive", formatting.NAIVE)
    return display(
        overall.assign(forecaster=names.map(formatting.display_name)),
        "forecaster", "mape", "wape", "bias", "coverage", "counted",
    )  # fmt: skip


def band_coverage(bands: pd.DataFrame) -> pd.DataFrame:
    """`queries.band_coverage`: a row for each kind of day, and '79.5 % of 1,234' for each level."""
    shares = zip(
        bands["coverage"].map(formatting.percent), bands["counted"], strict=True
    )
    texts = bands.assign(told=[f"{share} of {n:,}" for share, n in shares])
    table = texts.pivot(index="kind", columns="level", values="told")
    headings = {"depots": "Depots", "cities": "Cities", "fleet": "Fleet"}
    levels = [level for level in headings if level in table]
    table = table[levels].rename(columns=headings, index=formatting.display_name)
    return table.rename_axis("Within the band").reset_index()


def depot_accuracy(result: pd.DataFrame) -> pd.DataFrame:
    """Display table of `queries.depot_accuracy`."""
    return display(
        result,
        "name", "city", "mape", "naive_mape", "bias", "coverage", "counted",
    )  # fmt: skip


def depot_links(result: pd.DataFrame, chosen: dict[str, str]) -> list[str]:
    """Addresses of page Accuracy for each depot, with the other parameters of the URL `chosen`."""
    rows = zip(result["city"], result["depot_id"], strict=True)
    places = [{"city": city, "depot": depot} for city, depot in rows]
    return [formatting.link("accuracy", **chosen | place) for place in places]


def why_links(result: pd.DataFrame, since: date) -> list[str]:
    """Addresses of *Why this forecast* of depot-days; of just the depot's page before `since`."""
    return [
        formatting.why_link(depot, day)
        if day.date() >= since
        else formatting.link("depot", depot=depot)
        for depot, day in zip(result["depot_id"], result["target_on"], strict=True)
    ]


def day_links(result: pd.DataFrame, city: str) -> list[str]:
    """Addresses of the accuracy of each day in a city, or in all ('')."""
    return [
        formatting.link("accuracy", city=city, period=f"{day.date()}")
        for day in result["target_on"]
    ]


def last_day_by_city(scored: pd.DataFrame) -> pd.DataFrame:
    """Totals of `queries.last_day` by city, and of all, over depots with forecast and actual."""
    known = scored.dropna(subset=["actual", "point"])
    sums = known.groupby("city")[["part", "actual"]].sum()
    if len(sums) > 1:
        sums = pd.concat([sums.sum().to_frame("All cities").T, sums])
    table = sums.rename_axis("city").reset_index()
    miss = (table["part"].round() - table["actual"]) / table["actual"].where(
        table["actual"] > 0
    )
    columns = "city", "part", "actual", "error_share"
    return display(table.assign(error_share=miss), *columns, part="Forecast")


def largest_errors(result: pd.DataFrame) -> pd.DataFrame:
    """Display table of `queries.largest_errors`; without the column Depot if there is no `name`.

    Holidays and events of every depot on one day are left out: they are named above the table.
    """
    notes = formatting.day_notes(result, with_closed=False)
    if len(notes) > 1 and result["target_on"].nunique() == 1:
        of_all = set.intersection(*map(set, notes))
        notes = [[each for each in day if each not in of_all] for day in notes]
    rows = zip(result.to_dict("records"), notes, strict=True)
    error = result["point"].round() - result["actual"]
    return display(
        result.assign(
            error=error,
            error_share=error / result["actual"].where(result["actual"] > 0),
            outside=summaries.is_outside(result).map({True: "yes", False: ""}),
            note=[_note(row, day) for row, day in rows],
        ),
        "target_on", *result.columns.intersection(["name"]), "point", "actual", "error",
        "error_share", "outside", "note", point="Forecast", outside=html_tables.OUTSIDE,
    )  # fmt: skip


def past_days(past: pd.DataFrame, days: pd.DataFrame) -> pd.DataFrame:
    """Display table of `queries.past_forecasts`, newest first; `days` is `queries.depot_days`."""
    names = {"day_on": "target_on", "planner_orders": "override_orders"}
    known = ["events", "holidays", "override_reason", "made_by"]
    known_days = days.rename(columns=names)[[*names.values(), *known]]
    return largest_errors(past.merge(known_days, on="target_on")[::-1])


def noted(days: pd.DataFrame) -> pd.Series:
    """By day of `queries.depot_days`, its holidays and events, and a planner's reason; '' for none."""
    is_set = days["planner_orders"].notna()
    reasons = days["override_reason"].map(formatting.quoted).where(is_set, "")
    every = zip(formatting.day_notes(days, with_closed=False), reasons, strict=True)
    told = [", ".join(filter(None, [*notes, reason])) for notes, reason in every]
    return pd.Series(told, days["day_on"])


def noted_before(days: pd.DataFrame, ahead: pd.DataFrame) -> list[str]:
    """For each day ahead, holidays and events a week before and, if they differ, a year before.

    'Last week: Fair. Last year: no event'; '' for nothing. Both are `queries.depot_days`.
    """
    known = noted(days)
    now = known.reindex(ahead["day_on"]).to_numpy()
    week = known.reindex(ahead["day_on"] - pd.Timedelta(7, "D"), fill_value="")
    year = known.reindex(ahead["year_before_on"], fill_value="").to_numpy()
    differs = ahead["year_before"].notna().to_numpy() & (year != now)
    told = []
    for last_week, last_year, is_told in zip(week, year, differs, strict=True):
        parts = [f"Last week: {last_week}"] if last_week else []
        parts += [f"Last year: {last_year or 'no event'}"] if is_told else []
        told.append(". ".join(parts))
    return told


def past_orders(days: pd.DataFrame) -> pd.DataFrame:
    """Display table of past days' orders, newest first.

    `days` is `queries.depot_days`, or `days_ahead.daily_totals`, which has `notes`.
    """
    if "notes" not in days:
        notes = map(", ".join, formatting.day_notes(days, with_closed=False))
        days = days.assign(notes=list(notes))
    known = days.dropna(subset=["actual"])[::-1]
    columns = "day_on", "actual", "notes"
    return display(known, *columns, day_on="Day", actual="Orders", notes=OCCASION)


def past_occasions(days: pd.DataFrame) -> pd.DataFrame:
    """Past holidays and events, consecutive days merged, newest first; `days` as `past_orders`.

    '380 · 187' of several days; '≥ 7,900' where some depots' data is missing.
    """
    special = past_orders(days).query(f"`{OCCASION}` != ''")[::-1]
    is_same = special[OCCASION].eq(special[OCCASION].shift())
    is_next = special["Day"].diff().eq(formatting.A_DAY) & is_same
    runs = special.groupby((~is_next).cumsum().rename("run"))
    ends = zip(runs["Day"].first(), runs["Day"].last(), strict=True)
    newest_on = days.loc[days["actual"].notna(), "day_on"].max()
    lacks = days.query("missing > 0")["day_on"] if "missing" in days else ()
    told = special["Orders"].map(formatting.orders).astype(str)
    special["told"] = told.mask(
        special["Day"].isin(lacks), "≥\N{NO-BREAK SPACE}" + told
    )
    orders = [" · ".join(own) for _, own in runs["told"]]
    return pd.DataFrame(
        {
            "Days": [formatting.day_range(*each, newest_on) for each in ends],
            OCCASION: runs[OCCASION].first().to_list(),
            "Orders": orders,
        }
    )[::-1]


def _note(row: Mapping[Hashable, Any], notes: list[str]) -> str:
    """'No history, Black Friday', 'Ann set 515: “Fair”'; within the band, only changes and events."""
    told, is_outside = [], not row["p10"] <= row["actual"] <= row["p90"]
    if not pd.isna(row["override_orders"]):
        reason = formatting.quoted(row["override_reason"])
        orders = formatting.orders(row["override_orders"])
        told = [f"{row['made_by']} set {orders}: {reason}"]
    if is_outside and row["basis"] == "cold_start":
        told.append("no history")
    elif is_outside and row["same_side"] >= MANY_DAYS:
        side = "low" if row["point"] < row["actual"] else "high"
        told.append(f"also too {side} on {row['same_side']} of the 7 days before")
    text = ", ".join([*told, *notes])
    return text[:1].upper() + text[1:]


def changes(result: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """Display table of `queries.changes`; times in `zone`."""
    rows = result.to_dict("records")
    table = {
        "Changed by": _by(result, zone),
        "Depot or city": [
            # Settings have no day.
            row["name"] if pd.isna(row["target_on"])
            else f"{row['name']}, {formatting.day(row['target_on'])}"
            for row in rows
        ],
        "Change": list(map(plan_summaries.change_in_history, rows)),
        # An undo has none of its own.
        "Note": result["note"].where(result["undoes"].isna(), "").to_list(),
    }  # fmt: skip
    return pd.DataFrame(table)


def decided_days(days: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """Display table of decided days of `Plan.cities`, with vans still short; times in `zone`."""
    rows = days.to_dict("records")
    words = [
        formatting.display_name(decision_words(row))
        + (f"; {plan_summaries.shortage_in_words(row)}" if row["lacking"] else "")
        for row in rows
    ]
    named = days.assign(made_by=_by(days, zone), Decision=words)
    columns = "city", "target_on", "Decision", "note", "made_by"
    return display(named, *columns, made_by="Decided by")


def changed_days(depots: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """Display table of days of `Plan.depots` whose orders a planner has set; times in `zone`."""
    return display(
        depots.assign(made_by=_by(depots, zone)),
        "name", "city", "target_on", "point", "model_point", "override_reason", "made_by",
    )  # fmt: skip


def form_links(days: pd.DataFrame) -> list[str]:
    """Addresses of the forms of orders for rows of `Plan.depots`, of vans for `Plan.cities`."""
    forms = [{"form": "vans"}] * len(days)
    if "depot_id" in days:
        forms = [{"depot": key} for key in days["depot_id"]]
    rows = zip(days["city"], days["target_on"], forms, strict=True)
    return [formatting.plan_link(city, day, **form) for city, day, form in rows]


def _by(result: pd.DataFrame, zone: ZoneInfo) -> list[str]:
    """'Ann, Fri 21 Nov, 06:31' of each row."""
    rows = zip(result["made_by"], result["made_at"], strict=True)
    return [f"{name}, {formatting.timestamp(at, zone)}" for name, at in rows]


def loaded_files(result: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """Display table of the files of `queries.files` that were loaded."""
    files = _named_files(result[result["refused_because"].isna()], zone)
    table = display(
        files.assign(ignored=files["ignored_columns"].map(", ".join)),
        "File", "kind", "came", "accepted", "unchanged", "rejected", "ignored",
        came="Loaded", ignored="Ignored columns",
    )  # fmt: skip
    # Columns of zeros are left out.
    return table.loc[:, table.empty | table.ne(0).any()]


def refused_files(result: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """Display table of the files of `queries.files` that were refused."""
    files = _named_files(result[result["refused_because"].notna()], zone)
    return display(
        files, "File", "came", "refused_because",
        came="Refused", refused_because="Reason and fix",
    )  # fmt: skip


def rejected_rows(result: pd.DataFrame) -> pd.DataFrame:
    """Display table of `queries.rejected_rows`."""
    return display(
        result.assign(File=result["path"].map(_file_name)),
        "File", "reason", "n_rows", "first_line", "column_name", "value",
        n_rows="Rows", first_line="First line", column_name="Column", value="Value",
    )  # fmt: skip


def _named_files(files: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    timestamps = [formatting.timestamp(at, zone) for at in files["came_at"]]
    return files.assign(File=files["path"].map(_file_name), came=timestamps)


def _file_name(path: str) -> str:
    return PurePosixPath(path).name or path
