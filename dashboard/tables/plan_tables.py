"""Display tables, grid and summary of the plan; no I/O."""

from collections.abc import Hashable
from html import escape
from itertools import groupby
from operator import itemgetter
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from dashboard.planning import overrides
from dashboard.planning.planning import Assumptions
from dashboard.text import formatting

Row = dict[Hashable, Any]
MAX_DAYS_NAMED = 3


def assumptions_text(city: str, assumptions: Assumptions) -> str:
    """The plan's assumptions as a sentence, also printed."""
    if assumptions.level is None:
        rule = (
            f"least expected cost at {assumptions.per_order:g} per undelivered order and "
            f"{assumptions.per_idle_van:g} per idle van"
        )
    else:
        rule = f"service level {100 * assumptions.level:.0f} %"
    return (
        f"{city}: {_vans_a_day(assumptions)}"
        f"{formatting.count(round(assumptions.capacity), 'order')} per van, {rule}."
    )


def _vans_a_day(assumptions: Assumptions) -> str:
    return (
        ""
        if assumptions.vans is None
        else f"{formatting.count(assumptions.vans, 'van')} per day, "
    )


def figures(days: pd.DataFrame, assumptions: Assumptions) -> dict[str, tuple[str, str]]:
    """The plan in three numbers; in two where the number of vans is not known.

    Args:
      days: As `planning.by_day` gives it, not empty.
      assumptions: Of the plan.
    """
    most = max(days.to_dict("records"), key=itemgetter("needed"))
    volume = days["p50"].sum()
    share = days["undelivered"].sum() / volume if volume > 0 else float("nan")
    of = "" if assumptions.vans is None else f", of {assumptions.vans:,}"
    return {
        "Peak vans needed": (
            f"{int(most['needed']):,}",
            f"on {formatting.day(most['target_on'])}{of}",
        ),
        **({} if assumptions.vans is None else _short(days)),
        "Undelivered orders": (
            formatting.orders(days["undelivered"].sum()),
            f"expected, {formatting.percent(share)} of orders",
        ),
    }


def _short(days: pd.DataFrame) -> dict[str, tuple[str, str]]:
    short = int((days["needed"] - days["allocated"]).sum())
    return {
        "Van-days short": (f"{short:,}", formatting.next_days(len(days)).capitalize())
    }


def sentence(days: pd.DataFrame, city: str) -> str:
    """Summary of the days on which vans are short.

    Args:
      days: As `planning.by_day` gives it, not empty.
      city: Name of the city.
    """
    if days["spare"].isna().all():
        return (
            f"The number of vans in {city} is not known, so every depot gets as many as it "
            "needs. Set it under “Assumptions”, or load the depots again with a column "
            "“vans”."
        )
    short = days[days["allocated"] < days["needed"]]
    if short.empty:
        return (
            f"{city} has enough vans every day, with at least "
            f"{formatting.count(int(days['spare'].min()), 'van')} to spare."
        )
    named = [
        f"{formatting.day(day['target_on'])} ({int(day['needed'] - day['allocated']):,})"
        for day in short.to_dict("records")[:MAX_DAYS_NAMED]
    ]
    more = len(short) - len(named)
    rest = f" and {formatting.count(more, 'day')} more" if more else ""
    return (
        f"Vans short on {', '.join(named)}{rest}. They are allocated to deliver as many "
        "orders as possible."
    )


def grid(plan: pd.DataFrame, days: pd.DataFrame) -> str:
    """Depots × days as HTML: vans, what is missing of them, and the orders.

    Args:
      plan: As `planning.make_plan` gives it, rows of a depot together; not empty.
      days: As `planning.by_day` gives it.
    """
    heads = "".join(_head(day) for day in days["target_on"])
    depots = groupby(plan.to_dict("records"), itemgetter("depot_id"))
    rows = "".join(_depot(list(own)) for _, own in depots)
    return (
        f'<table class="hf hf-plan"><thead><tr><th scope="col">Depot</th>{heads}</tr>'
        f"</thead><tbody>{rows}</tbody><tbody>{_totals(days)}</tbody></table>"
    )


def table(plan: pd.DataFrame) -> pd.DataFrame:
    """Display table of `planning.make_plan` and for files."""
    return pd.DataFrame(
        {
            "City": plan["city"],
            "Depot": plan["name"],
            "Depot id": plan["depot_id"],
            "Day": plan["target_on"],
            "Vans": plan["allocated"].astype("Int64"),
            "Vans needed": plan["needed"].astype("Int64"),
            "Drivers": plan["drivers"].astype("Int64"),
            "Planned orders": plan["p50"].round().astype("Int64"),
            "Forecast": plan["forecast"].round().astype("Int64"),
            "Undelivered": plan["undelivered"].round().astype("Int64"),
            "Service level": 100 * plan["service_level"],
            "Locked": plan["is_locked"].map({True: "yes", False: ""}),
            "Reason": plan["reason"].where(plan["is_set"]),
            "Changed by": plan["made_by"].where(plan["is_set"]),
        }
    )


def history(result: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """Display table of `queries.override_history`; times in `zone`."""
    return pd.DataFrame(
        {
            "When": [formatting.timestamp(at, zone) for at in result["made_at"]],
            "Depot": result["name"],
            "Day": result["target_on"],
            "Action": result["action"].map(overrides.DONE),
            "Orders": result["orders"].round().astype("Int64"),
            "Forecast then": result["p50"].round().astype("Int64"),
            "Reason": result["reason"],
            "Changed by": result["made_by"],
        }
    )


def _head(day: pd.Timestamp) -> str:
    weekday, rest = formatting.day(day).split(" ", 1)
    return f'<th scope="col" class="day">{weekday}<small>{rest}</small></th>'


def _depot(rows: list[Row]) -> str:
    cells = "".join(_cell(row) for row in rows)
    return f'<tr><th scope="row">{escape(rows[0]["name"])}</th>{cells}</tr>'


def _cell(row: Row) -> str:
    if row["basis"] == "closed" and not row["is_set"]:
        return '<td class="closed">closed</td>'
    short = row["needed"] - row["allocated"]
    lacks = f' <b class="short">−{short}</b>' if short else ""
    return (
        f'<td class="day" title="{_title(row)}">{row["allocated"]}{lacks}'
        f"<small>{_how(row)}{formatting.orders(row['p50'])}</small></td>"
    )


def _how(row: Row) -> str:
    if row["is_locked"]:
        return "locked "
    return "set " if row["is_set"] else ""


def _title(row: Row) -> str:
    title = (
        f"{formatting.count(row['drivers'], 'driver')}; "
        f"service level {100 * row['service_level']:.0f} %"
    )
    if row["is_set"]:
        title += f"; set by {row['made_by']}: {row['reason']}"
    return escape(title)


def _totals(days: pd.DataFrame) -> str:
    compared = {"Vans needed": days["needed"], "Vans to spare": days["spare"]}
    lines = {
        "Vans": days["allocated"],
        **({} if days["spare"].isna().all() else compared),
        "Drivers": days["drivers"],
        "Undelivered orders": days["undelivered"],
    }
    rows = []
    for name, numbers in lines.items():
        cells = "".join(f'<td class="day">{formatting.orders(n)}</td>' for n in numbers)
        style = ' class="total"' if name == "Vans" else ""
        rows.append(f'<tr{style}><th scope="row">{name}</th>{cells}</tr>')
    return "".join(rows)
