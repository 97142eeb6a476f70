"""Sentences on changes of a plan: previews, confirmations and what-if scenarios; no I/O."""

from collections.abc import Hashable, Mapping, Sequence
from datetime import date
from typing import Any

import pandas as pd

from dashboard.planning import overrides
from dashboard.planning.overrides import Cell, Change
from dashboard.text import formatting, plan_summaries
from pipelines.planning.city_settings import CitySettings

MAX_DAYS = 5  # most days that a message names


def now_sentence(chosen: pd.DataFrame) -> str:
    """Orders and vans of the chosen days: 'Now 420 orders (model 341), 9 vans needed.'.

    Args:
      chosen: Rows of `Plan.depots`, at least one; the planner is named if there is one row.
    """
    orders, model = chosen["point"].sum(), chosen["model_point"].sum()
    vans = formatting.count(int(chosen["needed"].sum()), _van(chosen))
    number, _, compared = formatting.planned(orders, model).partition(" ")
    noun = "order" if number == "1" else "orders"
    sentence = f"Now {' '.join(filter(None, [number, noun, compared]))}, {vans} needed."
    first = chosen.iloc[0]
    if len(chosen) > 1 or not first["is_set"]:
        return sentence
    reason = formatting.quoted(first["override_reason"])
    return f"{sentence} Set by {first['made_by']}: {reason}."


def preview_sentence(
    preview: pd.DataFrame,
    changes: Sequence[Change],
    names: Mapping[str, str],
    city: str,
) -> str:
    """Describes the effect of changes before they are saved, from `entered_changes.preview`.

    'Barking, Fri 27 Nov: 341 → 420 orders. London needs 34 → 36 vans, short 0 → 2, about 1 → 18 late.'
    """
    sentence = f"{change_sentence(changes, names, preview)} {_need(preview, city)}"
    short, late = _sum(preview, "short"), _sum(preview, "late")
    sentence += f", short {short}" * (short != "0")
    others = _sum(preview, "others")
    sentence += f", other depots' vans {others}" * ("→" in others)
    return f"{sentence}, about {late} late." if late != "0" else f"{sentence}."


def scenario_sentence(preview: pd.DataFrame, city: CitySettings) -> str:
    """The effect of a scenario on the vans of a city, from `entered_changes.preview`."""
    days = preview["target_on"]
    need = f"{_need(preview, city.city)} on {formatting.day_range(days.min(), days.max())}."
    if city.vans is None:
        return f"{need} The number of its vans is not known."
    short = preview[preview["short_after"] > 0]
    if short.empty:
        return f"{need} It has enough vans then."
    listed = [
        f"{formatting.day(row['target_on'])}: {row['short_after']:,} "
        f"({row['short_before']:,} without the scenario)"
        for row in short.to_dict("records")
    ]
    return f"{need} Short on {'; '.join(listed)}."


def _need(preview: pd.DataFrame, city: str) -> str:
    """'London needs 34 → 36 vans', or 'London still needs 34 vans'."""
    vans = _sum(preview, "need")
    noun = _van(preview) if vans == "1" else f"{_van(preview)}s"
    return f"{city}{'' if '→' in vans else ' still'} needs {vans} {noun}"


def _van(days: pd.DataFrame) -> str:
    """The noun of a sum over days: vans of several days are van-days."""
    return "van" if days["target_on"].nunique() == 1 else "van-day"


def _sum(preview: pd.DataFrame, name: str) -> str:
    """'3,410 → 3,751', or '3,410' if unchanged."""
    before = formatting.orders(preview[f"{name}_before"].sum())
    after = formatting.orders(preview[f"{name}_after"].sum())
    return before if before == after else f"{before} → {after}"


def far_sentence(far: Sequence[Change], names: Mapping[str, str]) -> str:
    """Names what `entered_changes.far_from_model` found; '' for nothing."""
    places: dict[str, list[str]] = {}
    for each in far:
        orders, model = each.orders or 0.0, each.cell.model_orders
        how = "More than three times" if orders > model else "Less than a third of"
        number = f"({formatting.orders(orders)}, model {formatting.orders(model)})"
        places.setdefault(how, []).append(f"{_cell(each.cell, names)} {number}")
    return " ".join(
        f"{how} the model's number: {formatting.listed(own)}."
        for how, own in places.items()
    )


def change_sentence(
    changes: Sequence[Change], names: Mapping[str, str], preview: pd.DataFrame
) -> str:
    """'Barking, Fri 27 Nov: 341 → 420 orders.', from `entered_changes.preview`."""
    depots = list(dict.fromkeys(change.cell.depot for change in changes))
    days = [change.cell.day_on for change in changes]
    place = _place([names[each] for each in depots], min(days), max(days))
    back = "back to the model, " if changes[0].orders is None else ""
    return f"{place}: {back}{_sum(preview, 'orders')} orders."


def newest_change_sentence(newest: pd.DataFrame, made_at: str) -> str:
    """The planner's last change, from `queries.newest_change`; `made_at` is a formatted time."""
    return f"Your last change, {made_at}: {_place_of(newest)}{_what(newest)}."


def _what(newest: pd.DataFrame) -> str:
    """': 420 orders', ': 23 vans hired', ': undone'; '' for settings."""
    first = newest.to_dict("records")[0]
    if overrides.is_undo(newest):
        return ": undone"
    if first["what"] == "settings":
        return ""
    numbers = [saved.get("orders") for saved in newest["saved"]]
    orders = [number for number in numbers if number is not None]
    if not orders:
        return f": {plan_summaries.saved_words(first)}"
    return f": {formatting.orders(sum(orders))} orders"


def undone_sentence(newest: pd.DataFrame) -> str:
    """Confirms that `queries.newest_change` was taken back, or set again if it was an undo."""
    done = "Set again:" if overrides.is_undo(newest) else "Undone:"
    return f"{done} {_place_of(newest)}."


def _place_of(newest: pd.DataFrame) -> str:
    if newest["what"].iloc[0] == "settings":
        return f"the settings of {newest['name'].iloc[0]}"
    depots = newest.drop_duplicates("depot_id")["name"].tolist()
    days = newest["target_on"]
    return _place(depots, days.min(), days.max())


def _place(depots: Sequence[str], first: date, last: date) -> str:
    """'Barking, Fri 27 Nov', or '3 depots, Fri 27 – Sun 29 Nov'."""
    who = depots[0] if len(depots) == 1 else formatting.count(len(depots), "depot")
    return f"{who}, {formatting.day_range(first, last)}"


def changed_since(
    when_opened: Sequence[Cell],
    now: Sequence[Cell],
    names: Mapping[str, str],
    history: pd.DataFrame,
) -> str:
    """Lists who changed the chosen days since the form first showed them, and how to go on.

    Args:
      when_opened: The chosen days as first shown; at least one has changed since.
      now: The same days now, in the same order.
      names: The names of the depots.
      history: `queries.changes`.
    """
    pairs = list(zip(when_opened, now, strict=True))
    orders = history[history["what"] == "orders"]
    newest = orders.set_index("change_id").to_dict("index")
    changed = [
        f"{_cell(after, names)} {_done(newest.get(after.override_id))} after you had "
        "opened it. Look at it again, then save."
        for before, after in pairs
        if before.override_id != after.override_id
    ]
    more = formatting.count(len(changed) - MAX_DAYS, "more day")
    sentences = changed[:MAX_DAYS]
    sentences += [f"The same holds for {more}."] if len(changed) > MAX_DAYS else []
    reforecast = [
        _cell(after, names)
        for before, after in pairs
        if before.override_id == after.override_id and before != after
    ]
    if reforecast:
        sentences.append(
            f"A new forecast of {formatting.listed(reforecast, MAX_DAYS)} arrived after you "
            "opened the form. Check the numbers, then save."
        )
    return " ".join(sentences)


def _cell(cell: Cell, names: Mapping[str, str]) -> str:
    return f"{formatting.day(cell.day_on)} at {names[cell.depot]}"


def _done(override: Mapping[Hashable, Any] | None) -> str:
    """'was set to 420 by Mara'; names nobody if the history does not reach back to the override."""
    if override is None:
        return "was changed by somebody else"
    orders = override["saved"]["orders"]
    planner = override["made_by"]
    if orders is None:
        return f"was given back to the model by {planner}"
    return f"was set to {orders:.0f} by {planner}"
