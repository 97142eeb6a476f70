"""Tables as files that a spreadsheet opens and does not execute."""

import numpy as np
import pandas as pd
import pytest

from dashboard.tables import export


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_text_that_would_be_a_formula_is_quoted(start):
    assert export.safe_cell(f"{start}cmd()") == f"'{start}cmd()"


@pytest.mark.parametrize("value", ["Waalhaven", "", -3, -2.5, None, np.int64(-1)])
def test_other_cells_stay_as_they_are(value):
    assert export.safe_cell(value) is value


def test_a_csv_keeps_numbers_and_quotes_formulas():
    table = pd.DataFrame({"=Depot": ["=1+1", "Å"], "Difference": [-5, 7]})
    written = export.csv(table).decode("utf-8-sig")
    assert written == "'=Depot,Difference\n'=1+1,-5\nÅ,7\n"


def test_a_csv_has_days_as_iso_dates():
    table = pd.DataFrame({"Day": pd.to_datetime(["2025-11-21", None]).as_unit("s")})
    assert export.csv(table).decode("utf-8-sig").split() == ["Day", "2025-11-21", '""']
