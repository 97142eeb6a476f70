"""Charts over literal tables: what is drawn, in which order, in which colour."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dashboard.charts import encodings, forecast_charts
from tests.dashboard.no_override import NO_OVERRIDE

DAYS = pd.date_range("2025-11-17", periods=4).as_unit("s")  # Monday to Thursday


@pytest.fixture
def totals():
    return pd.DataFrame(
        {
            "day_on": DAYS,
            "actual": [10.0, np.nan, np.nan, np.nan],
            "p10": [np.nan, np.nan, 25.0, np.nan],
            "point": [np.nan, np.nan, 30.0, 40.0],
            "p90": [np.nan, np.nan, 36.0, np.nan],
            "missing": [0, 3, 0, 0],
            "notes": ["", "", "Black Friday", ""],
        }
    )


@pytest.fixture
def days():
    return pd.DataFrame(
        {
            "day_on": DAYS,
            "actual": [10.0, np.nan, np.nan, np.nan],
            "p10": [np.nan, np.nan, 25.0, 0.0],
            "point": [np.nan, np.nan, 30.0, 0.0],
            "p90": [np.nan, np.nan, 36.0, 0.0],
            "basis": [None, None, "model", "closed"],
            "is_closed": [False, False, False, True],
            "events": [[], ["pay_day"], [], ["closed"]],
            "holidays": [[], [], [], []],
        }
    ).assign(**NO_OVERRIDE, past_p10=np.nan, past_point=np.nan, past_p90=np.nan)


def marks(chart):
    """The rows each layer draws, by the layer's kind of mark."""
    spec = chart.to_dict(validate=False)  # as Streamlit does, in the tests of the pages
    named = spec["datasets"]
    layers = spec.get("layer", [spec])
    return [
        (layer["mark"]["type"], named[layer.get("data", spec.get("data"))["name"]])
        for layer in layers
    ]


def test_totals_are_bars_of_actuals_then_forecasts_with_their_events(totals):
    past, ahead, bands, events = marks(forecast_charts.daily_totals(totals))
    assert [mark for mark, _ in (past, ahead, bands, events)] == [
        "bar", "bar", "rule", "point",
    ]  # fmt: skip
    assert [row["p90"] for row in bands[1]] == [36.0, None]
    assert [(row["day"], row["top"]) for row in events[1]] == [
        ("Wed 19 Nov · Black Friday", 36.0)
    ], "above its bar and band"
    drawn = [(row["day"], row["orders"], row["series"]) for row in past[1] + ahead[1]]
    assert drawn == [
        ("Mon 17 Nov", 10.0, "actual"),
        ("Tue 18 Nov", None, "actual"),
        ("Wed 19 Nov · Black Friday", 30.0, "forecast"),
        ("Thu 20 Nov", 40.0, "forecast"),
    ]


def test_a_total_names_the_number_of_missing_depots_and_mondays_are_labelled(totals):
    (_, rows), *_ = marks(forecast_charts.daily_totals(totals))
    x = forecast_charts.daily_totals(totals).to_dict()["layer"][0]["encoding"]["x"]
    assert [day[:10] for day in x["sort"]] == [
        "Mon 17 Nov", "Tue 18 Nov", "Wed 19 Nov", "Thu 20 Nov",
    ]  # fmt: skip
    assert x["axis"]["values"] == ["Mon 17 Nov"]
    assert [row["actual_text"] for row in rows] == ["10", "– without 3 depots"]


def test_the_fan_draws_a_band_a_history_a_forecast_and_events(days):
    band, history, forecast, ahead, events, *_ = marks(forecast_charts.fan(days))
    assert band[0] == "area"
    assert history[0] == forecast[0] == "line"
    assert ahead[0] == "circle", "a day between two closed ones is seen, too"
    assert [row["point"] for row in ahead[1]] == [30.0, None]
    ends = [(row["p10"], row["p90"]) for row in band[1]]
    assert ends == [*2 * [(None, None)], (25.0, 36.0), (None, None)]
    assert [row["actual"] for row in history[1]] == [10.0, None, None, None]
    assert [row["day"] for row in events[1]] == [
        "Tue 18 Nov · Pay Day", "Thu 20 Nov · Closed",
    ]  # fmt: skip


def test_a_planners_number_is_a_dot_whose_day_tells_who_and_why(days):
    circles = [each for each, _ in marks(forecast_charts.fan(days)) if each == "circle"]
    assert len(circles) == 1, "of the days ahead"
    day = days["day_on"] == DAYS[2]
    planned = days.assign(
        is_set=day,
        made_by=day.map({True: "Ann", False: None}),
        override_reason=day.map({True: "Bridge closed", False: None}),
    )
    (dot,) = dict(marks(forecast_charts.fan(planned)))["circle"]
    assert dot["planned"] == 30.0
    assert dot["planned_text"] == "30 by Ann: “Bridge closed”"
    *_, (_, ahead) = marks(forecast_charts.fan(planned))
    assert [row["planned_text"] for row in ahead] == ["30 by Ann: “Bridge closed”", "–"]


def test_a_planners_number_of_a_day_past_is_a_dot_too_with_its_note(days):
    past = days["day_on"] == DAYS[0]
    set_before = days.assign(
        is_set=past,
        planner_orders=past.map({True: 12.0, False: np.nan}),
        made_by=past.map({True: "Ann", False: None}),
        override_reason=past.map({True: "Fair", False: None}),
    )
    *_, dots, (_, told), _ = marks(forecast_charts.fan(set_before))
    assert (dots[0], [row["planned"] for row in dots[1]]) == ("circle", [12.0])
    assert told[0]["actual_text"] == "10, planned 12 by Ann: “Fair”"


def test_a_closed_day_interrupts_the_lines_and_is_no_demand_of_zero(days):
    closed = days.assign(
        actual=[10.0, 0.0, 5.0, np.nan], is_closed=[False, True, True, True]
    )
    _, history, forecast, *_ = marks(forecast_charts.fan(closed))
    assert [row["actual"] for row in history[1]] == [10.0, None, 5.0, None]
    assert [row["point"] for row in forecast[1]] == [None, None, 30.0, None]


def test_a_long_history_is_drawn_as_means_of_seven_days_and_told_by_day(days):
    dates = pd.date_range("2025-10-01", periods=120).as_unit("s")
    actual = [float(n % 7) for n in range(116)]
    long = pd.DataFrame(
        {"day_on": dates, "actual": [*actual, *[np.nan] * 4], "is_closed": False}
    ).assign(point=[np.nan] * 116 + [10.0] * 4, p10=5.0, p90=15.0, **NO_OVERRIDE)
    long = long.assign(events=[[]] * 120, holidays=[[]] * 120)
    long.at[12, "events"], long.at[118, "events"] = ["black_friday"], ["promotion"]
    history, forecast, noted, past, ahead = marks(forecast_charts.fan(long))
    assert [mark for mark, _ in (history, forecast)] == ["line", "line"], "and no band"
    drawn = [row["actual"] for row in history[1]]
    assert drawn[:4] == [0, 0.5, 1, 1.5]
    assert set(drawn[6:116]) == {3.0}
    assert drawn[116:] == [None] * 4, "its last days are not ahead"
    ahead_of = [*actual[-6:], 10.0, 10.0, 10.0, 10.0]
    assert [row["point"] for row in forecast[1][116:]] == pytest.approx(
        [sum(ahead_of[n : n + 7]) / 7 for n in range(4)]
    ), "it goes on where the actual orders end"
    assert [row["noted"] for row in noted[1]] == [12 % 7, 10.0], "their own numbers"
    assert [row["day"] for row in noted[1]] == [
        "Mon 13 Oct 2025 · Black Friday", "Tue 27 Jan 2026 · Promotion",
    ]  # fmt: skip
    assert [row["actual_text"] for row in past[1]][:3] == ["0", "1", "2"]
    assert {row["planned_text"] for row in ahead[1]} == {"10"}


def test_the_fan_has_the_last_live_forecast_of_each_day_past(days):
    past = pd.DataFrame({"target_on": DAYS, "p10": [8.0, 9, 99, 99], "point": 12.0})
    past = past.assign(p90=15.0, is_live=True)
    own = days.drop(columns=["past_p10", "past_point", "past_p90"])
    before = forecast_charts.with_past_forecasts(own, past)
    legend = "Shaded: 80 % band. Triangles: holidays, events and closed days."
    with_past = f"With the last forecast before each day. {legend}"
    assert forecast_charts.fan_legend(before) == with_past
    hindcast = forecast_charts.with_past_forecasts(own, past.assign(is_live=False))
    assert forecast_charts.fan_legend(hindcast) == legend, "nobody saw it"
    band, _, forecast, *_, past, ahead = marks(forecast_charts.fan(before))
    lows = [8.0, 9.0, 25.0, None]
    assert [row["p10"] for row in band[1]] == lows, "and what is planned ahead"
    assert [row["point"] for row in forecast[1]] == [12.0, 12.0, 30.0, None]
    assert [row["point_text"] for row in past[1]] == ["12", "12"]
    assert [row["planned_text"] for row in ahead[1]] == ["30", "–"]


def by_day(*mapes):
    """A row per day and forecaster; 10, 20, 30 … depot-days are scored."""
    forecasters = ("forecast", "seasonal naive", "median of 4")
    rows = [
        {
            "day_on": DAYS[0] + pd.Timedelta(n, "D"),
            "forecaster": name,
            "mape": mape,
            "counted": 10 * (n + 1),
        }
        for n, of_day in enumerate(mapes)
        for name, mape in zip(forecasters, (*of_day, 0.1), strict=True)
    ]
    return pd.DataFrame(rows)


def test_accuracy_has_a_line_beside_same_day_last_week_and_one_ruler_for_both():
    lines, dots, ruler = marks(
        forecast_charts.accuracy_by_day(by_day((0.08, 0.12), (0.11, np.nan)))
    )
    assert (lines[0], dots[0], ruler[0]) == ("line", "circle", "rule")
    assert {row["forecaster"] for row in lines[1]} == {"forecast", "same day last week"}
    assert [row["mape"] for row in dots[1]] == [0.08, 0.12, 0.11]
    told = [
        (row["day"], row["forecast_mape"], row["naive_mape"], row["counted_text"])
        for row in ruler[1]
    ]
    assert told == [
        ("Mon 17 Nov", "8.0 %", "12.0 %", "10"), ("Tue 18 Nov", "11.0 %", "–", "20"),
    ]  # fmt: skip


def test_the_lines_are_seven_day_means_weighted_by_the_scored_days():
    def line(n_days):
        days = by_day(*[(0.08, 0.1)] * 3, (0.11, 0.1), *[(0.2, 0.1)] * (n_days - 4))
        (_, rows), *_ = marks(forecast_charts.accuracy_by_day(days))
        return [row["weekly"] for row in rows if row["forecaster"] == "forecast"]

    *unknown, fourth = line(14)[:4]
    assert unknown == [None] * 3, "no mean of fewer than four days"
    assert fourth == pytest.approx((60 * 0.08 + 40 * 0.11) / 100)
    assert line(13)[:4] == [0.08, 0.08, 0.08, 0.11], "of few days, the line joins them"


def driven(**parts):
    """The parts of a day, by name with underscores for what a keyword cannot hold."""
    named = {name.replace("__", ": "): value for name, value in parts.items()}
    forecast = sum(named.values())
    table = pd.DataFrame({"part": [*named], "orders": [*named.values()]})
    return table.assign(forecast=forecast, planned=forecast)


def test_contributions_are_a_waterfall_from_a_usual_day_to_the_forecast():
    day = driven(level=100.0, weekday=-20.4, fair=50.0)
    (bar, rows), (text, labels) = marks(forecast_charts.contributions(day))
    assert (bar, text) == ("bar", "text")
    drawn = forecast_charts.contributions(day).to_dict()["layer"][1]["encoding"]
    assert drawn["color"]["field"] == "series", "black in the dark theme"
    assert {row["series"] for row in labels} == {"actual"}
    assert [(row["contribution"], row["low"], row["high"], row["effect"]) for row in rows] == [
        ("Usual day", 0.0, 100.0, "100"), ("Weekday", 79.6, 100.0, "−20"),
        ("Fair", 79.6, 129.6, "+50"),
        ("Forecast", 0.0, 129.6, "130"),
    ]  # fmt: skip
    for planned, effect in ((90.0, "−40"), (150.0, "+20")):
        (_, rows), _ = marks(forecast_charts.contributions(day.assign(planned=planned)))
        *_, own, last = rows
        ends = sorted((129.6, planned))
        assert (own["contribution"], own["effect"]) == ("Planner", effect)
        assert [own["low"], own["high"]] == ends
        assert (last["contribution"], last["low"], last["high"]) == (
            "Planned",
            0.0,
            planned,
        )


@pytest.mark.parametrize(
    ("day", "bars"),
    [
        pytest.param(
            driven(level=100.0, black_friday=90.0, fair=-5.0),
            {"Black Friday": "+90", "Fair": "−5"},
            id="each event by its name",
        ),
        pytest.param(driven(level=100.0, fair=0.3), {}, id="nothing of weight"),
        pytest.param(
            driven(level=100.0, signal__bookings=12.0, holiday__Diwali=-8.0, network=2.0,
                   **{"point shift": -1.0}),
            {"Bookings": "+12", "Diwali": "−8", "Recent weeks": "+2",
             "Small correction": "−1"},
            id="signals, holidays and what the model adds in plain words",
        ),
    ],
)  # fmt: skip
def test_each_effect_has_a_bar(day, bars):
    (_, rows), _ = marks(forecast_charts.contributions(day))
    assert {row["contribution"]: row["effect"] for row in rows[1:-1]} == bars


@settings(max_examples=25)
@given(st.lists(st.floats(-300, 300).map(lambda value: round(value, 2)), max_size=8))
@example([-66.4, 47.4, 0.4, 0.4, -0.4, 5.4])
def test_the_labels_of_a_waterfall_add_up(effects):
    names = {f"event {n}": value for n, value in enumerate(effects)}
    day = driven(level=211.3, **names)
    (_, rows), _ = marks(forecast_charts.contributions(day))
    usual, *shown, total = [
        int(row["effect"].replace("−", "-").replace(",", "")) for row in rows
    ]
    assert usual + sum(shown) == total
    assert 0 not in shown


def test_what_if_has_labelled_bars_side_by_side():
    outcome = pd.DataFrame(
        {"target_on": DAYS[:2], "forecast": [100.4, 1200.0], "scenario": [0.0, 1180.0]}
    )
    (bars, rows), (text, labels) = marks(forecast_charts.what_if(outcome))
    assert (bars, text) == ("bar", "text")
    assert [(row["series"], row["orders"]) for row in rows] == [
        ("forecast", 100.4), ("forecast", 1200.0), ("scenario", 0.0), ("scenario", 1180.0),
    ]  # fmt: skip
    assert [row["orders_text"] for row in labels] == ["100", "1,200", "0", "1,180"]
    drawn = forecast_charts.what_if(outcome).to_dict()["layer"]
    assert drawn[1]["encoding"]["color"] == drawn[0]["encoding"]["color"]


def test_tooltips_are_texts_with_titles_and_only_where_there_is_something_to_say(
    days, totals
):
    for chart in (forecast_charts.fan(days), forecast_charts.daily_totals(totals)):
        for layer in chart.to_dict()["layer"]:
            tooltips = layer["encoding"].get("tooltip")
            assert tooltips or layer["mark"]["tooltip"] is None
            for tooltip in tooltips or ():
                assert tooltip["type"] == "nominal"
                assert tooltip["title"] == encodings.TITLES[tooltip["field"]]


def test_the_ruler_tells_actuals_of_past_days_and_the_forecast_of_those_ahead(days):
    *_, past, ahead = forecast_charts.fan(days).to_dict()["layer"]
    fields = [
        [tooltip["field"] for tooltip in layer["encoding"]["tooltip"]]
        for layer in (past, ahead)
    ]
    of_forecast = ["point_text", "p10_text", "p90_text"]
    assert fields == [[*encodings.PAST, *of_forecast], list(encodings.AHEAD)]
    *_, (_, rows) = marks(forecast_charts.fan(days))
    assert [row["p90_text"] for row in rows] == ["36", "–"]
    planned = [tooltip["title"] for tooltip in ahead["encoding"]["tooltip"]][1]
    assert planned == "Planned"
    assert all("planned_text" in row for row in rows)


def test_every_series_has_a_colour_in_both_themes_and_naive_ones_a_dash_of_their_own():
    config = Path(forecast_charts.__file__).parents[1] / "server/.streamlit/config.toml"
    theme = tomllib.loads(config.read_text())["theme"]
    for shade in ("light", "dark"):
        colours = theme[shade]["chartCategoricalColors"]
        assert len(set(colours)) == len(colours) == len(encodings.SERIES)
    dash = dict(zip(encodings.SERIES, map(tuple, encodings.DASHES), strict=True))
    assert len({dash[name] for name in forecast_charts.MAPES}) == 2


def luminance(colour):
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [
        p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("shade", ["light", "dark"])
def test_labels_of_axes_and_legends_are_legible(totals, shade):
    config = forecast_charts.legible(forecast_charts.daily_totals(totals)).to_dict()[
        "config"
    ]
    expressions = [config[part]["labelColor"]["expr"] for part in ("axis", "legend")]
    themes = Path(forecast_charts.__file__).parents[1] / "server/.streamlit/config.toml"
    ground = tomllib.loads(themes.read_text())["theme"][shade]["backgroundColor"]
    for expression in expressions:
        condition, on_light, on_dark = re.fullmatch(
            r"(.*) \? '(#\w{6})' : '(#\w{6})'", expression
        ).groups()
        assert condition == "luminance(background) > 0.5"
        colour = on_light if luminance(ground) > 0.5 else on_dark
        assert contrast(colour, ground) >= 4.5


@pytest.mark.parametrize("shade", ["light", "dark"])
def test_text_and_marks_contrast_with_the_background(shade):
    config = Path(forecast_charts.__file__).parents[1] / "server/.streamlit/config.toml"
    theme = tomllib.loads(config.read_text())["theme"][shade]
    ground = theme["backgroundColor"]
    for name in ("textColor", "primaryColor", "linkColor", "redColor"):
        assert contrast(theme[name], ground) >= 4.5, name
    # The naive's line is quiet on purpose; 2.5 is still visible, and it is dashed.
    least = {encodings.NAIVE: 2.5}
    for series, colour in zip(
        encodings.SERIES, theme["chartCategoricalColors"], strict=True
    ):
        assert contrast(colour, ground) >= least.get(series, 3.0), series
    boxed = contrast(theme["blueTextColor"], theme["blueBackgroundColor"])
    assert boxed >= 4.5


@pytest.mark.parametrize(
    ("n_days", "labelled"), [(2, [18, 19]), (14, list(range(18, 32))), (15, [24, 31])]
)
def test_a_fortnight_has_every_day_labelled_and_more_have_mondays(n_days, labelled):
    table = pd.DataFrame({"day_on": pd.date_range("2026-08-18", periods=n_days)})
    twice = pd.concat([table, table])
    values = encodings.time_axis(twice, "day_on").to_dict()["axis"]["values"]
    assert [day["date"] for day in values] == labelled


def test_more_than_half_a_year_has_months_with_their_year():
    table = pd.DataFrame({"day_on": pd.date_range("2025-10-18", periods=396)})
    axis = encodings.time_axis(table, "day_on").to_dict()["axis"]
    assert axis["format"] == "%b %Y"
    months = [(day["year"], day["month"]) for day in axis["values"]]
    assert months == [
        (2025, 11),
        (2025, 12),
        *((2026, month) for month in range(1, 12)),
    ]
