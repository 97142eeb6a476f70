"""Small tables and large numbers as HTML, read back with a parser."""

import numpy as np
import pandas as pd
import pytest

from dashboard.tables import html_tables
from tests.dashboard.cells import Cells


def test_small_tables_are_escaped():
    table = pd.DataFrame(
        {"City": ["<b>"], "MAPE": [8.14], "Days": pd.Series([1200], dtype="Int64")}
    )
    read = Cells(html_tables.table(table, "Scores <now>"))
    assert read.text == [["City", "MAPE", "Days"], ["<b>", "8.1 %", "1,200"]]
    assert read.tags[0][1]["aria-label"] == "Scores <now>", "for a screen reader"


def test_an_empty_column_is_left_out():
    table = pd.DataFrame({"Depot": ["A", "B"], "Gate": ["", ""], "Why": ["", "x"]})
    read = Cells(html_tables.table(table, "", hidden_on_phones=("Gate",)))
    assert read.text == [["Depot", "Why"], ["A", ""], ["B", "x"]]
    nothing = Cells(html_tables.table(table.iloc[:0], ""))
    assert nothing.text == [["Depot", "Gate", "Why"]]


def test_a_group_of_columns_is_named_above_its_first():
    table = pd.DataFrame({"Model": ["a"], "Test: <MAPE>": [8.14], "Test: Bias": [1.0]})
    html = html_tables.table(table.assign(Status="new"), "")
    assert Cells(html).text[0] == ["Model", "Test <MAPE>", "Bias", "Status"]
    assert '<b class="group"></b>Status</th>' in html, "which ends its line"
    assert '<b class="group">Test</b>&lt;MAPE&gt;</th>' in html


@pytest.mark.parametrize(
    ("values", "name", "expected"),
    [
        pytest.param(pd.Series([1200, None], dtype="Int64"), "Days", ["1,200", "–"], id="n"),
        pytest.param(pd.Series([8.14, np.nan]), "MAPE", ["8.1 %", "–"], id="share"),
        pytest.param(pd.Series([-1.26]), "Bias", ["−1.3 %"], id="bias has a sign"),
        pytest.param(pd.Series([-12.4, 0.2]), "Error %", ["−12 %", "0 %"], id="off in percent"),
        pytest.param(pd.Series([-1200, 48, 0]), "Error", ["−1,200", "+48", "0"], id="off"),
        pytest.param(pd.Series(["a", None], dtype=object), "What", ["a", "–"], id="text"),
        pytest.param(
            pd.Series(pd.to_datetime(["2025-11-21", None])), "From", ["Fri 21 Nov", "–"],
            id="day",
        ),
    ],
)  # fmt: skip
def test_a_column_is_formatted_by_its_type_and_name(values, name, expected):
    assert html_tables.column(values, name) == expected


def test_a_table_with_a_long_text_is_wide_and_hides_columns_on_phones():
    result = pd.DataFrame(
        {"File": ["a.csv"], "Kind": ["daily"], "Why": ["It is empty. " * 9]}
    )
    read = Cells(html_tables.table(result, "Files", hidden_on_phones=("Kind",)))
    assert ("table", {"class": "hf", "aria-label": "Files"}) in read.tags
    classes = [kind["class"] for tag, kind in read.tags if tag == "td"]
    assert classes == ["fill short desk", "fill"]


def test_a_number_outside_its_band_is_marked_and_said():
    table = pd.DataFrame(
        {"Depot": ["A", "B"], "Actual": [1_200, 90], "Outside its band": ["yes", ""]}
    )
    html = html_tables.table(table, "")
    read = Cells(html)
    assert read.text[1:] == [["A", "1,200 outside the band"], ["B", "90"]]
    assert html.count('<b class="outside">1,200<') == html.count("<b ") == 1
    assert "Outside its band" not in html


def test_large_biases_and_bands_that_held_few_days_are_marked():
    bias = [8.0, -8.1, 0.0, float("nan")]
    table = pd.DataFrame(
        {"Depot": [*"ABCD"], "Bias": bias, html_tables.IN_BAND: [50.0, 80.0, 49.9, 0.0]}
    )
    read = Cells(html_tables.table(table, ""))
    is_marked = [
        [text.endswith(" unusual") for text in row[1:]] for row in read.text[1:]
    ]
    assert is_marked == [[False, False], [True, False], [False, True], [False, True]]


def test_a_row_that_the_url_selects_is_marked():
    table = pd.DataFrame({"Night": [*"AB"], "State": [*"CD"]})
    html = html_tables.table(table, "", are_current=[False, True])
    assert html.count("aria-current") == 1
    assert '<tr aria-current="true"><th scope="row" class="fill short">B' in html


def test_a_column_of_links_leads_where_it_says():
    table = pd.DataFrame({"Depot": ["A & B", "C"], "Bias": [1.5, -2.0]})
    cells = Cells(
        html_tables.table(table, "", links={"Depot": ["depot?depot=A%26", "x?y=1&z=2"]})
    )
    assert cells.text[1:] == [["A & B", "+1.5 %"], ["C", "−2.0 %"]]
    links = [attrs["href"] for tag, attrs in cells.tags if tag == "a"]
    assert links == ["depot?depot=A%26", "x?y=1&z=2"]
