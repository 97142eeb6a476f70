"""Sentences on changes of a plan: before they are saved, once they are, and of a what-if; no I/O."""

from collections.abc import Sequence
from datetime import date

import pandas as pd

from dashboard.planning import overrides
from dashboard.planning.city_settings import CitySettings
from dashboard.planning.overrides import Change
from dashboard.text import formatting


def now_sentence(chosen: pd.DataFrame) -> str:
    """Orders and vans of the chosen days: 'Now 420 orders (model 341), 9 vans needed.'.

    Args:
      chosen: Rows of `planning.make_plan`, at least one; the planner is named if there is one row.
    """
    orders, model = chosen["point"].sum(), chosen["model_point"].sum()
    noun = "van" if chosen["target_on"].nunique() == 1 else "van-day"
    vans = formatting.count(int(chosen["needed"].sum()), noun)
    number, _, compared = formatting.planned(orders, model).partition(" ")
    noun = "order" if number == "1" else "orders"
    sentence = f"Now {' '.join(filter(None, [number, noun, compared]))}, {vans} needed."
    first = chosen.iloc[0]
    if len(chosen) > 1 or not first["is_set"]:
        return sentence
    reason = formatting.quoted(first["override_reason"])
    return f"{sentence} Set by {first['made_by']}: {reason}."


def preview_sentence(preview: pd.DataFrame, changes: Sequence[Change]) -> str:
    """Describes the effect of changes before they are saved, from `edits.preview`."""
    cells = formatting.count(len(changes), "number")
    orders, vans = _sums(preview)
    short = int(preview["short_before"].sum()), int(preview["short_after"].sum())
    shortage = ""
    if short[0] != short[1]:
        shortage = f", van-days short {short[0]:,} → {short[1]:,}"
    return f"{cells}: {orders} orders, {vans} vans{shortage}."


def consequence_sentence(preview: pd.DataFrame, city: CitySettings) -> str:
    """Consequence of a scenario for the vans of a depot and of its city, from `edits.preview`."""
    _, vans = _sums(preview)
    days = formatting.day_range(preview["target_on"].min(), preview["target_on"].max())
    needed = f"Vans needed here on {days}: {vans}."
    if city.vans is None:
        return f"{needed} The number of vans in {city.city} is not known."
    short = preview[preview["short_after"] > 0]
    if short.empty:
        return f"{needed} {city.city} has enough vans then."
    listed = [
        f"{formatting.day(row['target_on'])}: {row['short_after']:,} "
        f"({row['short_before']:,} without the scenario)"
        for row in short.to_dict("records")
    ]
    total = ""
    if len(short) > 1:
        before, after = preview["short_before"].sum(), preview["short_after"].sum()
        total = f" Together {after:,} van-days ({before:,} without the scenario)."
    return f"{needed} Vans short in {city.city} on {'; '.join(listed)}.{total}"


def _sums(preview: pd.DataFrame) -> tuple[str, str]:
    """'3,410 → 3,751', of orders and of vans."""
    return _sum(preview, "orders"), _sum(preview, "vans")


def _sum(preview: pd.DataFrame, name: str) -> str:
    before = formatting.orders(preview[f"{name}_before"].sum())
    after = formatting.orders(preview[f"{name}_after"].sum())
    return before if before == after else f"{before} → {after}"


def far_sentence(far: Sequence[Change], names: dict[str, str]) -> str:
    """Names the numbers of `edits.far_from_model`, one or more."""
    places = [
        f"{formatting.day(each.cell.day_on)} at {names[each.cell.depot]}"
        for each in far
    ]
    models = [formatting.orders(each.cell.model_orders) for each in far]
    numbers = [formatting.orders(each.orders or 0.0) for each in far]
    if len(far) > 1:
        listed = formatting.listed(
            [
                f"{place} ({number}, model {model})"
                for place, number, model in zip(places, numbers, models, strict=True)
            ]
        )
        return (
            f"{len(far):,} numbers are more than 3 times the model's, or less than a third "
            f"of them: {listed}."
        )
    is_more = (far[0].orders or 0.0) > far[0].cell.model_orders
    relation = "more than 3 times" if is_more else "less than a third of"
    return f"{numbers[0]} orders on {places[0]} are {relation} the model's {models[0]}."


def sure_label(far: Sequence[Change]) -> str:
    """The label of the box that confirms the numbers of `edits.far_from_model`."""
    numbers = {formatting.orders(each.orders or 0.0) for each in far}
    if len(numbers) == 1:
        return f"Yes, {numbers.pop()} is right"
    return f"Yes, these {len(far):,} numbers are right"


def saved_sentence(
    changes: Sequence[Change], names: dict[str, str], preview: pd.DataFrame
) -> str:
    """Confirms a save: 'Saved: Barking, Fri 27 Nov: 341 → 420 orders, 7 → 9 vans.'."""
    orders, vans = _sums(preview)
    return f"Saved: {_describe_changes(changes, names)}{orders} orders, {vans} vans."


def newest_change_sentence(newest: pd.DataFrame, made_at: str) -> str:
    """What a planner saved last, from `queries.newest_change`; `made_at` is in words."""
    depots = newest.drop_duplicates("depot_id")["name"].tolist()
    days = newest["target_on"]
    place = _place(depots, days.min(), days.max())
    done = {overrides.description(row) for row in newest.to_dict("records")}
    what = ", ".join(sorted(done - {"set"}))
    if done == {"set"}:
        what = f"{formatting.orders(newest['orders'].sum())} orders"
    return f"Your last change, {made_at}: {place}: {what}."


def _describe_changes(changes: Sequence[Change], names: dict[str, str]) -> str:
    """'Barking, Fri 27 Nov: ', or 'Barking, Fri 27 Nov: back to the model, '."""
    depots = list(dict.fromkeys(change.cell.depot for change in changes))
    days = [change.cell.day_on for change in changes]
    place = _place([names[each] for each in depots], min(days), max(days))
    is_withdrawal = changes[0].orders is None
    return f"{place}: {'back to the model, ' if is_withdrawal else ''}"


def _place(depots: Sequence[str], first: date, last: date) -> str:
    """'Barking, Fri 27 Nov', or '3 depots, Fri 27 – Sun 29 Nov'."""
    who = depots[0] if len(depots) == 1 else formatting.count(len(depots), "depot")
    return f"{who}, {formatting.day_range(first, last)}"
