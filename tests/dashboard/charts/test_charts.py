"""Charts over literal tables: what is drawn, in which order, in which colour."""

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.charts import charts, encodings

DAYS = pd.date_range("2025-11-17", periods=4).as_unit("s")  # Monday to Thursday


@pytest.fixture
def totals():
    return pd.DataFrame(
        {
            "day_on": DAYS,
            "actual": [10.0, np.nan, np.nan, np.nan],
            "p10": [np.nan, np.nan, 25.0, np.nan],
            "p50": [np.nan, np.nan, 30.0, 40.0],
            "p90": [np.nan, np.nan, 36.0, np.nan],
            "missing": [0, 3, 0, 0],
        }
    )


@pytest.fixture
def days():
    return pd.DataFrame(
        {
            "day_on": DAYS,
            "actual": [10.0, np.nan, np.nan, np.nan],
            "p10": [np.nan, np.nan, 25.0, 0.0],
            "p50": [np.nan, np.nan, 30.0, 0.0],
            "p90": [np.nan, np.nan, 36.0, 0.0],
            "basis": [None, None, "model", "closed"],
            "is_closed": [False, False, False, True],
            "events": [[], ["pay_day"], [], ["closed"]],
            "holidays": [[], [], [], []],
        }
    )


def marks(chart):
    """The rows each layer draws, by the layer's kind of mark."""
    spec = chart.to_dict()
    named = spec["datasets"]
    layers = spec.get("layer", [spec])
    return [
        (layer["mark"]["type"], named[layer.get("data", spec.get("data"))["name"]])
        for layer in layers
    ]


def test_totals_are_bars_of_actuals_then_forecasts(totals):
    (mark, rows), (rule, bands) = marks(charts.daily_totals(totals))
    assert (mark, rule) == ("bar", "rule")
    assert [row["p90"] for row in bands] == [None, None, 36.0, None]
    assert [(row["day"], row["orders"], row["series"]) for row in rows] == [
        ("Mon 17 Nov", 10.0, "actual"),
        ("Tue 18 Nov", None, "actual"),
        ("Wed 19 Nov", 30.0, "forecast"),
        ("Thu 20 Nov", 40.0, "forecast"),
    ]


def test_a_total_names_the_number_of_missing_depots(totals):
    (_, rows), _ = marks(charts.daily_totals(totals))
    assert [row["remark"] for row in rows] == ["", "without 3 depots", "", ""]


def test_bars_keep_the_order_of_days_and_label_mondays(totals):
    x = charts.daily_totals(totals).to_dict()["layer"][0]["encoding"]["x"]
    assert x["sort"] == ["Mon 17 Nov", "Tue 18 Nov", "Wed 19 Nov", "Thu 20 Nov"]
    assert x["axis"]["values"] == ["Mon 17 Nov"]


def test_the_fan_draws_a_band_a_history_a_forecast_and_events(days):
    band, history, forecast, events = marks(charts.fan(days))
    assert band[0] == "area"
    assert [(row["p10"], row["p90"]) for row in band[1]] == [(25.0, 36.0), (0.0, 0.0)]
    assert history[0] == forecast[0] == "line"
    assert [row["p50"] for row in forecast[1]] == [30.0, 0.0]
    assert [row["events"] for row in events[1]] == ["Pay day", "Closed"]


def test_an_unknown_day_breaks_the_history_line(days):
    _, (_, rows), *_ = marks(charts.fan(days))
    assert [row["actual"] for row in rows] == [10.0, None, None, None]


def test_past_forecasts_show_actuals_as_dots():
    past = pd.DataFrame(
        {
            "target_on": DAYS,
            "actual": [1.0, 2, 3, 4],
            "p10": 1.0,
            "p50": 2.0,
            "p90": 3.0,
        }
    )
    band, line, dots = marks(charts.past_forecasts(past))
    assert (band[0], line[0], dots[0]) == ("area", "line", "circle")
    assert [row["actual"] for row in dots[1]] == [1.0, 2.0, 3.0, 4.0]


def test_accuracy_has_lines_for_the_forecast_and_the_baselines():
    by_day = pd.DataFrame(
        {
            "day_on": [DAYS[0]] * 3 + [DAYS[1]],
            "forecaster": ["forecast", "seasonal naive", "median of 4", "forecast"],
            "mape": [0.08, 0.12, 0.10, np.nan],
            "counted": [6, 6, 6, 0],
        }
    )
    spec = charts.accuracy_by_day(by_day).to_dict()
    assert [layer["transform"][0]["filter"] for layer in spec["layer"]] == [
        "!(datum.forecaster === 'forecast')", "datum.forecaster === 'forecast'",
    ]  # fmt: skip
    [rows] = spec["datasets"].values()
    assert [row["mape_text"] for row in rows] == ["8.0 %", "12.0 %", "10.0 %"]


def test_what_if_has_labelled_bars_side_by_side():
    outcome = pd.DataFrame(
        {"target_on": DAYS[:2], "forecast": [100.4, 1200.0], "scenario": [0.0, 1180.0]}
    )
    (bars, rows), (text, labels) = marks(charts.what_if(outcome))
    assert (bars, text) == ("bar", "text")
    assert [(row["series"], row["orders"]) for row in rows] == [
        ("forecast", 100.4), ("forecast", 1200.0), ("scenario", 0.0), ("scenario", 1180.0),
    ]  # fmt: skip
    assert [row["orders_text"] for row in labels] == ["100", "1,200", "0", "1,180"]
    drawn = charts.what_if(outcome).to_dict()["layer"]
    assert drawn[1]["encoding"]["color"] == drawn[0]["encoding"]["color"]


def test_tooltips_are_texts_with_titles_and_the_band_has_none(days):
    band, *others = charts.fan(days).to_dict()["layer"]
    assert band["mark"]["tooltip"] is None
    for layer in others:
        for tooltip in layer["encoding"]["tooltip"]:
            assert tooltip["type"] == "nominal"
            assert tooltip["title"] == encodings.TITLES[tooltip["field"]]
    _, (_, rows), *_ = marks(charts.fan(days))
    assert [row["p90_text"] for row in rows] == ["–", "–", "36", "0"]


def test_every_series_has_a_colour_in_both_themes_and_a_dash():
    config = Path(charts.__file__).parents[1] / "server/.streamlit/config.toml"
    theme = tomllib.loads(config.read_text())["theme"]
    for shade in ("light", "dark"):
        colours = theme[shade]["chartCategoricalColors"]
        assert len(set(colours)) == len(colours) == len(encodings.SERIES)
    assert len(encodings.DASHES) == len(encodings.SERIES)


def test_baselines_differ_without_colour():
    dash = dict(zip(encodings.SERIES, map(tuple, encodings.DASHES), strict=True))
    shown = [dash[name] for name in ("forecast", "seasonal naive", "median of 4")]
    assert len(set(shown)) == 3


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
def test_text_and_marks_contrast_with_the_background(shade):
    config = Path(charts.__file__).parents[1] / "server/.streamlit/config.toml"
    theme = tomllib.loads(config.read_text())["theme"][shade]
    ground = theme["backgroundColor"]
    for name in ("textColor", "primaryColor", "linkColor", "redColor"):
        assert contrast(theme[name], ground) >= 4.5, name
    # The naive's line is quiet on purpose; 2.5 is still visible, and it is dashed.
    least = {"seasonal naive": 2.5}
    for series, colour in zip(
        encodings.SERIES, theme["chartCategoricalColors"], strict=True
    ):
        assert contrast(colour, ground) >= least.get(series, 3.0), series
    boxed = contrast(theme["blueTextColor"], theme["blueBackgroundColor"])
    assert boxed >= 4.5
