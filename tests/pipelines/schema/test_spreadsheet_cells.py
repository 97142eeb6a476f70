"""Text that a spreadsheet would run is quoted, on the pages and by the commands."""

from datetime import date

import numpy as np
import pytest

from pipelines.cli import console
from pipelines.schema.spreadsheet_cells import safe_cell


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_text_that_would_be_a_formula_is_quoted(start):
    assert safe_cell(f"{start}cmd()") == f"'{start}cmd()"


@pytest.mark.parametrize("value", ["Waalhaven", "", -3, -2.5, None, np.int64(-1)])
def test_other_cells_stay_as_they_are(value):
    assert safe_cell(value) is value


def test_the_csv_of_a_command_quotes_names_and_leaves_numbers(capsys):
    row = {"depot_id": "=1+1", "target_on": date(2026, 3, 31), "point": -1.5}
    console.show_csv([row])
    printed = capsys.readouterr().out.splitlines()
    assert printed == ["depot_id,target_on,point", "'=1+1,2026-03-31,-1.5"]
