"""The section "What if" of the page Depot: an event, and its effect on orders and vans."""

from collections.abc import Mapping
from datetime import date
from functools import partial

import pandas as pd
import streamlit as st

from dashboard.charts import forecast_charts
from dashboard.components import widgets
from dashboard.inference import what_if
from dashboard.inference.what_if import Scenario
from dashboard.planning import city_settings, entered_changes, van_plan
from dashboard.queries.freshness import Freshness
from dashboard.text import change_summaries, formatting, summaries


def what_if_form(
    depot: str, city: str, days_ahead: Mapping[str, str], freshness: Freshness
) -> None:
    """Shows a scenario of one depot; its kind and days are kept in the URL.

    `days_ahead` maps the forecast days, as ISO dates, to their labels.
    """
    kinds = {kind: formatting.event_name(kind) for kind in what_if.kinds(freshness)}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = widgets.choose_from_url("Scenario", "scenario", kinds, width=280)
        first, last = map(date.fromisoformat, widgets.choose_days(days_ahead, "on"))
    if not kind:
        return
    scenario = Scenario(depot, first, last, kind)
    outcome = what_if.simulate(scenario, freshness)
    sentence = summaries.what_if_sentence(outcome, first, last)
    widgets.chart(forecast_charts.what_if, outcome, sentence)
    _show_vans(scenario, city, outcome, freshness)


def _show_vans(
    scenario: Scenario, city: str, outcome: pd.DataFrame, freshness: Freshness
) -> None:
    """Shows the effect of the scenario on the vans of the depot's city."""
    settings = city_settings.by_city(freshness)
    if city not in settings:
        # All of its depots have closed for good.
        return
    days = outcome["target_on"].dt.date
    changed = outcome[days.between(scenario.first_on, scenario.last_on)]
    numbers = {
        (scenario.depot, day): float(orders)
        for day, orders in zip(changed["target_on"], changed["scenario"], strict=True)
    }
    depots = van_plan.city_plan(city, freshness).depots
    planned = partial(van_plan.plan_of, freshness=freshness)
    preview = entered_changes.preview(depots, numbers, planned)
    sentence = change_summaries.scenario_sentence(preview, settings[city])
    st.markdown(formatting.escape_markdown(sentence))
