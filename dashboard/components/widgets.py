"""Widgets of the pages: charts, tables, choices and notices."""

from collections.abc import Callable, Collection, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd
import streamlit as st

from dashboard.charts import forecast_charts
from dashboard.charts.forecast_charts import Chart
from dashboard.tables import display_tables, html_tables
from dashboard.text import formatting

ALL_CITIES, IS_NEW_PAGE = "All cities", "is new page"
OCCASIONS = "Holidays and events of the last 13 months"
NOUNS = {"on": "day", "to": "day", "why": "day"}
"""Nouns for the options of URL parameters that are not nouns themselves."""
MISSING_ENTRY = (Path(__file__).parent / "missing_entry.js").read_text()
"""Ties the error to its field, and focuses the first; constant, as `server.asgi` allows the script by its hash."""
SESSION_PREFIX = "last chosen "
"""Prefix of the session keys that keep choices from page to page."""


# Cached because Altair is slow. Some columns hold lists, which Streamlit cannot hash.
@st.cache_data(
    max_entries=128, show_spinner=False, hash_funcs={pd.DataFrame: pd.DataFrame.to_csv}
)
def chart(
    _make_chart: Callable[[pd.DataFrame], Chart], rows: pd.DataFrame, sentence: str
) -> None:
    """Shows a chart with its caption; `_make_chart` is a function of `forecast_charts`."""
    st.caption(formatting.unbroken(sentence))
    drawn = forecast_charts.legible(_make_chart(rows))
    st.altair_chart(drawn, width="stretch", alt=sentence)


def small_table(
    table: pd.DataFrame,
    name: str,
    hidden_on_phones: Collection[str] = (),
    links: Mapping[str, Sequence[str]] | None = None,
    are_current: Sequence[bool] | None = None,
) -> None:
    """A small HTML table; arguments as `html_tables.table`."""
    st.html(html_tables.table(table, name, hidden_on_phones, links, are_current))


def past_occasions(days: pd.DataFrame, *, is_open: bool = False) -> None:
    """The list `display_tables.past_occasions`, which unfolds, if it has any."""
    special = display_tables.past_occasions(days)
    if not special.empty:
        with st.expander(OCCASIONS, expanded=is_open):
            small_table(special, "Holidays and events")
            if special["Orders"].str.contains("≥").any():
                st.caption("≥: some depots missing.")
    elif is_open:
        empty_state("No holiday or event in the last 13 months.")


def cut_notice(number: int, most: int, noun: str = "depots") -> None:
    """Shows how many rows of a table are shown, if some are left out."""
    if number > most:
        st.caption(f"{most} of {number:,} {noun}. Excel has all.")


def note(text: str, address: str, before: str = "") -> None:
    """A line of small text with a link; the text `before` precedes the link."""
    link = f'<a href="{escape(address)}" target="_self">{escape(text)}</a>'
    told = escape(formatting.unbroken(before))
    st.html(f'<p class="hf-note">{told}{link}</p>', width="content")


def action(text: str, address: str, *, is_primary: bool) -> None:
    """A link to a form, as large as a button."""
    css_class = "hf-action" + (" primary" if is_primary else "")
    link = f'<a class="{css_class}" href="{escape(address)}" target="_self">{escape(text)}</a>'
    st.html(link, width="content")


def choose_depot(labels: Mapping[str, str]) -> str:
    """The select box of depots; if the URL names none, a new page takes the session's last one."""
    _carry_over("depot", labels)
    depot = choose_from_url("Depot", "depot", labels, drops="city")
    st.session_state[f"{SESSION_PREFIX}depot"] = depot
    return depot


def choose_from_url(
    label: str,
    name: str,
    options: Mapping[str, str],
    default: str = "",
    width: int = 480,
    drops: str = "",
) -> str:
    """A select box bound to a URL parameter, so that a page can be shared by its URL.

    A choice is written to the URL first and read back from there. A message explains an
    unknown option in the URL.

    Args:
      label: Label of the box.
      name: The URL parameter; it holds the option, not its label.
      options: The options and their labels.
      default: Used where the URL names no option.
      width: Width of the box in pixels.
      drops: A parameter that a choice removes from the URL, as in `choose_pill`.

    Returns:
      The chosen option; '' where there is no default and the URL names none.
    """
    widget, noun = f"choice of {name}", NOUNS.get(name, name)
    requested = st.query_params.get(name, default)
    chosen = requested if requested in options else default
    st.session_state[widget] = chosen or None
    # The box does not ignore accents, so all labels but the one shown contain plain spellings.
    found_by = {key: formatting.with_plain_spelling(options[key]) for key in options}
    found_by[chosen] = options.get(chosen, "")

    st.selectbox(
        label,
        list(options),
        key=widget,
        index=0 if default else None,
        format_func=found_by.__getitem__,
        on_change=_write_url,
        args=(widget, name, "", drops),
        placeholder=f"Find a {noun}",
        width=width,
    )
    if requested and requested not in options:
        _not_known(noun, requested, options.get(default, ""))
    return chosen


def choose_days(options: Mapping[str, str], name: str) -> tuple[str, str]:
    """The first and the last day, bound to the URL parameters `name` and 'to'; as `choose_from_url`.

    The last day equals the first until a later one is chosen.
    """
    default = next(iter(options))
    first = choose_from_url("From", name, options, default, width=150, drops="to")
    later = {day: label for day, label in options.items() if day >= first}
    return first, choose_from_url("To", "to", later, first, width=150)


def _not_known(noun: str, requested: str, shown: str) -> None:
    """Explains an unknown option and what is shown instead, if anything."""
    unknown = f"There is no {noun} “{formatting.escape_markdown(requested)}”."
    instead = f"Shown instead: {formatting.escape_markdown(shown)}."
    empty_state(f"{unknown} {instead if shown else 'Choose another.'}")


def choose_city(cities: Sequence[str]) -> str:
    """Pills bound to the URL parameter `city`; returns '' for all cities, the default.

    A page opened without a city in its URL takes the session's last one.
    """
    _carry_over("city", cities)
    city = choose_pill("City", "city", [ALL_CITIES, *cities], drops="depot")
    st.session_state[f"{SESSION_PREFIX}city"] = city
    return "" if city == ALL_CITIES else city


def _carry_over(name: str, options: Collection[str]) -> None:
    """On a new page, writes the session's last choice into the URL if the parameter is missing."""
    last = st.session_state.get(f"{SESSION_PREFIX}{name}", "")
    is_new = st.session_state[IS_NEW_PAGE] and name not in st.query_params
    if is_new and last in options:
        st.query_params[name] = last


def choose_pill(label: str, name: str, options: Sequence[str], drops: str = "") -> str:
    """Pills bound to a URL parameter, ignoring case; a message explains an unknown option.

    A choice writes the URL, as a new entry of the browser's history; every run reads it, so that
    Back and Forward restore choices. The default is the first option. A choice removes the
    parameter `drops` from the URL, because its value belongs to the previous choice.
    """
    default = options[0]
    requested = st.query_params.get(name, default)
    known = {option.casefold(): option for option in options}
    known |= {option: option for option in options}  # cities may differ in case alone
    chosen = known.get(requested, known.get(requested.casefold(), default))
    st.session_state[name] = chosen

    st.pills(
        label,
        options,
        required=True,
        format_func=formatting.escape_markdown,
        key=name,
        wrap=True,
        on_change=_write_url,
        args=(name, name, default, drops),
    )
    if requested.casefold() not in known:
        _not_known(name, requested, chosen)
    return chosen


def _write_url(widget: str, name: str, default: str, drops: str) -> None:
    """Writes the choice into the URL; removes the parameter for the `default`.

    Choices of a depot or a city, which have `drops`, are also kept for other pages.
    """
    choice = st.session_state[widget] or ""
    if drops:
        # Stored now, because a change of page ends this run.
        st.session_state[f"{SESSION_PREFIX}{name}"] = choice
    parameters = st.query_params.to_dict() | {name: choice}
    if choice == default:
        del parameters[name]
    parameters.pop(drops, None)
    # One write for all parameters, because each write is an entry of the browser's history.
    st.query_params.from_dict(parameters)


def answer(sentences: str) -> None:
    """The key sentences at the top of a page; the first is bold."""
    first, _, others = formatting.escape_markdown(sentences).partition(". ")
    if first:
        st.markdown(f"**{first}.** {others}" if others else f"**{first}**")


def hindcast_warning() -> None:
    """Warns that the scores are of hindcasts."""
    st.warning(
        "**Hindcasts:** forecasts that `harbor backfill` made afterwards, with only the data known "
        "at the time. They show what the model can do, not what was published.",
        icon=":material/history:",
    )


def refusal(consequence: str, reasons: Sequence[str]) -> None:
    """Shows that nothing was changed, with a line for each reason."""
    st.error(f"{consequence}\n{bullets(reasons)}", icon=":material/error:")


def keep(*keys: str) -> None:
    """Keeps the entries of fields, which Streamlit forgets while they are not shown."""
    state = st.session_state
    drafts = state.setdefault("drafts", {})
    drafts |= {key: state[key] for key in keys if key in state}
    state.update({key: drafts[key] for key in keys if key in drafts})


def fill(
    key: str, value: Any, source: object = None, *, may_refill: bool = True
) -> None:
    """Fills a field of a form before it is shown; a field that was edited keeps its entry.

    It is filled again if `may_refill` and `source` (by default `value`) has changed.
    """
    state, source = st.session_state, value if source is None else source
    last, before = state.setdefault(f"filled {key}", (value, source))
    if source != before and may_refill:
        state[f"filled {key}"] = value, source
        if state.get(key, last) == last:
            state[key] = last = value
    state.setdefault(key, last)


def missing_entry(sentence: str) -> None:
    """Shows an incomplete field's error below it; the cursor goes to the first such field."""
    told = f'<p class="hf-missing">{escape(sentence)}</p>'
    st.html(f"{told}<script>{MISSING_ENTRY}</script>", unsafe_allow_javascript=True)


def refusals_unless_ticked(sentence: str, key: str) -> list[str]:
    """Warns of an entry and asks for a tick; a refusal until it is ticked, [] without a sentence."""
    if not sentence:
        return []
    label = "Yes, that is right"
    st.warning(formatting.escape_markdown(sentence), icon=":material/warning:")
    # The key contains the entry, so that another entry has an unticked box.
    if st.checkbox(label, key=f"sure {key} {sentence}"):
        return []
    return [f"Tick “{label}”, or correct the number."]


def bullets(sentences: Sequence[str]) -> str:
    """Sentences as a list in Markdown, a line for each; a single one as plain text."""
    if len(sentences) == 1:
        return formatting.escape_markdown(sentences[0])
    return "\n".join(f"- {formatting.escape_markdown(each)}" for each in sentences)


def empty_state(sentence: str) -> None:
    """Shows a message in place of missing data."""
    st.info(sentence, icon=":material/info:")


def stop_page(sentence: str) -> NoReturn:
    """Shows a message in place of missing data, and stops the page."""
    empty_state(sentence)
    st.stop()
