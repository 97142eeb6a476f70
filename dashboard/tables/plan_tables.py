"""The plan for people: its sentences, its grid, its files. No I/O."""

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
MOST_DAYS_NAMED = 3


def assumptions(city: str, assumed: Assumptions) -> str:
    """What the plan rests on, in words that also stand on paper."""
    if assumed.level is None:
        rule = (
            f"least expected cost at {assumed.per_order:g} per undelivered order and "
            f"{assumed.per_idle_van:g} per idle van"
        )
    else:
        rule = f"service level {100 * assumed.level:.0f} %"
    return (
        f"{city}: {_vans_a_day(assumed)}"
        f"{formatting.count(round(assumed.capacity), 'order')} per van, {rule}."
    )


def _vans_a_day(assumed: Assumptions) -> str:
    return (
        ""
        if assumed.vans is None
        else f"{formatting.count(assumed.vans, 'van')} per day, "
    )


def figures(days: pd.DataFrame, assumed: Assumptions) -> dict[str, tuple[str, str]]:
    """The plan in three numbers; in two where nobody told how many vans there are.

    Args:
      days: As `planning.by_day` gives it, not empty.
      assumed: Of the plan.
    """
    most = max(days.to_dict("records"), key=itemgetter("needed"))
    volume = days["p50"].sum()
    share = days["left_over"].sum() / volume if volume > 0 else float("nan")
    of = "" if assumed.vans is None else f", of {assumed.vans:,}"
    return {
        "Peak vans needed": (
            f"{int(most['needed']):,}",
            f"on {formatting.day(most['target_on'])}{of}",
        ),
        **({} if assumed.vans is None else _short(days)),
        "Undelivered orders": (
            formatting.orders(days["left_over"].sum()),
            f"expected, {formatting.percent(share)} of orders",
        ),
    }


def _short(days: pd.DataFrame) -> dict[str, tuple[str, str]]:
    short = int((days["needed"] - days["given"]).sum())
    return {
        "Van-days short": (f"{short:,}", formatting.next_days(len(days)).capitalize())
    }


def sentence(days: pd.DataFrame, city: str) -> str:
    """Where the vans reach and where they do not.

    Args:
      days: As `planning.by_day` gives it, not empty.
      city: Its name.
    """
    if days["spare"].isna().all():
        return (
            f"The number of vans in {city} is not known, so every depot gets as many as it "
            "needs. Set it under “Assumptions”, or load the depots again with a column "
            "“vans”."
        )
    short = days[days["given"] < days["needed"]]
    if short.empty:
        return (
            f"{city} has enough vans every day, with at least "
            f"{formatting.count(int(days['spare'].min()), 'van')} to spare."
        )
    named = [
        f"{formatting.day(day['target_on'])} ({int(day['needed'] - day['given']):,})"
        for day in short.to_dict("records")[:MOST_DAYS_NAMED]
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
      plan: As `planning.make` gives it, rows of a depot together; not empty.
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
    """`planning.make`, for people and for files."""
    return pd.DataFrame(
        {
            "City": plan["city"],
            "Depot": plan["name"],
            "Depot id": plan["depot_id"],
            "Day": plan["target_on"],
            "Vans": plan["given"].astype("Int64"),
            "Vans needed": plan["needed"].astype("Int64"),
            "Drivers": plan["drivers"].astype("Int64"),
            "Planned orders": plan["p50"].round().astype("Int64"),
            "Forecast": plan["forecast"].round().astype("Int64"),
            "Undelivered": plan["left_over"].round().astype("Int64"),
            "Service level": 100 * plan["enough"],
            "Locked": plan["is_locked"].map({True: "yes", False: ""}),
            "Reason": plan["reason"].where(plan["is_set"]),
            "Changed by": plan["made_by"].where(plan["is_set"]),
        }
    )


def history(found: pd.DataFrame, zone: ZoneInfo) -> pd.DataFrame:
    """`queries.override_history`, for people; times are told in `zone`."""
    return pd.DataFrame(
        {
            "When": [formatting.moment(at, zone) for at in found["made_at"]],
            "Depot": found["name"],
            "Day": found["target_on"],
            "Action": found["action"].map(overrides.DONE),
            "Orders": found["orders"].round().astype("Int64"),
            "Forecast then": found["p50"].round().astype("Int64"),
            "Reason": found["reason"],
            "Changed by": found["made_by"],
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
    short = row["needed"] - row["given"]
    lacks = f' <b class="short">−{short}</b>' if short else ""
    return (
        f'<td class="day" title="{_title(row)}">{row["given"]}{lacks}'
        f"<small>{_how(row)}{formatting.orders(row['p50'])}</small></td>"
    )


def _how(row: Row) -> str:
    if row["is_locked"]:
        return "locked "
    return "set " if row["is_set"] else ""


def _title(row: Row) -> str:
    said = (
        f"{formatting.count(row['drivers'], 'driver')}; "
        f"service level {100 * row['enough']:.0f} %"
    )
    if row["is_set"]:
        said += f"; set by {row['made_by']}: {row['reason']}"
    return escape(said)


def _totals(days: pd.DataFrame) -> str:
    compared = {"Vans needed": days["needed"], "Vans to spare": days["spare"]}
    lines = {
        "Vans": days["given"],
        **({} if days["spare"].isna().all() else compared),
        "Drivers": days["drivers"],
        "Undelivered orders": days["left_over"],
    }
    rows = []
    for name, numbers in lines.items():
        cells = "".join(f'<td class="day">{formatting.orders(n)}</td>' for n in numbers)
        style = ' class="total"' if name == "Vans" else ""
        rows.append(f'<tr{style}><th scope="row">{name}</th>{cells}</tr>')
    return "".join(rows)
