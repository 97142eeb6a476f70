"""Detects the decimal mark from a whole file; refuses files that stay ambiguous."""

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecaster.errors import BadInputError, RefusedFileError
from pipelines.ingest.load import FileOptions
from pipelines.ingest.rows.conventions import THOUSANDS_SEPARATOR, detect_decimal_mark
from pipelines.ingest.sources import workbook
from tests.pipelines.ingest.ingesting import (
    load_one,
    rows,
    write,
    write_parquet,
)

DAILY = "depot_id;date;orders\n"


def found(*cells, separator=";"):
    """The detected mark and its proof, each cell in a batch; None if they need neither."""
    batches = [pa.array([cell], pa.string()) for cell in cells]
    told = detect_decimal_mark(batches, "x.csv", separator)
    return told and (told.value, told.proof)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        pytest.param(["1", "1000", None, "x"], None, id="no mark at all"),
        pytest.param(["12.5", "7"], None, id="a decimal point and nothing unclear"),
        pytest.param(["12,5"], (",", "12,5"), id="one decimal"),
        pytest.param(["1.000", "1.234.567"], (",", "1.234.567"), id="two groups"),
        pytest.param(["1.000", "2.000,5"], (",", "2.000,5"), id="both marks"),
        pytest.param(["1.000", "0.500"], (".", "0.500"), id="a zero in front"),
        pytest.param(["1.000", "1234.000"], (".", "1234.000"), id="four digits before"),
        pytest.param(["1,000", "1,000,000"], (".", "1,000,000"), id="commas twice"),
        pytest.param(["-1.000", ",5"], (",", ",5"), id="nothing before the mark"),
        pytest.param(["1.000", "1.234e5"], (".", "1.234e5"), id="an exponent"),
    ],
)
def test_one_number_that_reads_one_way_proves_the_others(cells, expected):
    assert found(*cells) == expected


@pytest.mark.parametrize(
    ("cells", "separator", "named"),
    [
        pytest.param(["1.000"], ",", "1.000", id="a point among commas"),
        pytest.param(["17", "1.000", "1.234"], ";", "1.000", id="points"),
        pytest.param(["1,234"], ";", "1,234", id="a comma among semicolons"),
        pytest.param(["1,234"], None, "1,234", id="a comma of Parquet"),
        pytest.param(["1.234", "1,234"], ",", "1.234", id="both"),
    ],
)
def test_a_number_that_reads_two_ways_is_asked_about(cells, separator, named):
    with pytest.raises(RefusedFileError) as refused:
        found(*cells, separator=separator)
    said = str(refused.value)
    assert f"x.csv writes the number {named}, and nothing in it says" in said
    assert "--decimal '.'" in said
    assert "--decimal ','" in said


def test_commas_that_separate_cells_are_no_decimal_commas():
    assert found("1,234", separator=",") is None
    assert found("1,234", "3,5", separator=",") == (",", "3,5")


def test_two_proofs_against_each_other_are_refused():
    with pytest.raises(
        RefusedFileError, match=r"has 2\.5, which proves a decimal point, and 3,5"
    ):
        found("1.000", "2.5", "3,5")


def unambiguous_text(number, mark):
    """A number written with a decimal mark and its thousands separator."""
    return f"{number:,}".translate(
        str.maketrans({".": mark, ",": THOUSANDS_SEPARATOR[mark]})
    )


numbers = st.decimals(-(10**9), 10**9, places=2) | st.integers(0, 10**9).map(Decimal)


@given(st.lists(numbers, min_size=1, max_size=20), st.sampled_from(".,"))
def test_a_file_is_never_read_by_the_other_mark(found_in, mark):
    cells = [unambiguous_text(number, mark) for number in found_in]
    try:
        told = detect_decimal_mark([pa.array(cells)], "x.csv", ";")
    except RefusedFileError:
        # Only cells that are numbers with either mark are refused.
        assert all(len(cell.strip("-")) <= 7 for cell in cells)
        return
    if told is not None:
        assert told.value == mark
    else:
        assert mark == "." or all(cell.lstrip("-").isdigit() for cell in cells)


def test_a_count_is_read_by_the_mark_that_its_file_proves(clean_engine, tmp_path):
    text = DAILY + "A;2024-01-01;1.000\nB;2024-01-01;1.234.567\n"
    load_one(clean_engine, write(tmp_path / "a.csv", text))
    assert [row[2] for row in rows(clean_engine, "daily_counts")] == [1000, 1_234_567]


def test_numbers_of_parquet_say_themselves_what_they_are(clean_engine, tmp_path):
    counts = pa.array([Decimal("1.000"), Decimal("2.000")], pa.decimal128(10, 3))
    columns = {"depot_id": ["A", "B"], "date": ["2024-01-01"] * 2}
    path = write_parquet(tmp_path / "a.parquet", **columns, orders=counts)
    load_one(clean_engine, path, decimal=",")
    assert [row[2] for row in rows(clean_engine, "daily_counts")] == [1, 2]


@pytest.mark.parametrize("number", [1.234, 12.5, 0.001, 1234.567])
def test_numbers_of_sheets_read_one_way_only(number):
    text = workbook._cell(number)
    assert float(text) == number
    assert found(text, "1.000") == (".", text)


def test_another_mark_is_wrong_usage():
    with pytest.raises(BadInputError, match="decimal is ';'"):
        FileOptions(decimal=";")
