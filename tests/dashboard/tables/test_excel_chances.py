"""A chance reads in Excel as on the pages."""

import pandas as pd
import pytest

from dashboard.tables import display_tables, workbook
from pipelines.planning import words


def as_excel_reads(value):
    return (
        "> 99 %"
        if value > 0.99
        else "< 1 %"
        if value < 0.01
        else f"{value:.0%}".replace("%", " %")
    )


@pytest.mark.parametrize("chance", [0.0, 0.005, 0.01, 0.29, 0.985, 0.99, 0.995, 1.0])
def test_a_chance_reads_in_excel_as_on_the_pages(chance):
    """198 of a depot's 200 cases are 99 %, which is not more than 99 %."""
    assert workbook.FORMATS["chance"]["num_format"].startswith(
        '[>0.99]"> 99 %";[<0.01]'
    )
    rows = pd.DataFrame({"delivery_probability": [chance]})
    [value] = display_tables.display(rows, "delivery_probability").iloc[:, 0]
    assert as_excel_reads(value / 100) == words.chance(chance)
