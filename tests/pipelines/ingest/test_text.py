"""Variants of CSV: line ends, banners, quotes, half rows, and the line of each row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecaster.errors import RefusedFileError
from pipelines.ingest.rows import text_blocks
from pipelines.ingest.rows.options import FileOptions
from pipelines.ingest.rows.text import open_text
from pipelines.ingest.sources.files import find_sources
from tests.pipelines.ingest.ingesting import write

HEADER = "depot_id,date,orders"


def opened(path, **options):
    (source,) = find_sources([str(path)])
    return open_text(source, FileOptions(**options))


def all_rows(file, rowwise=False):
    """Depot, date and orders of every row, read at once or one by one."""
    found = []
    for batch in file.batches():
        cells = batch.parse_rows().cells if rowwise else batch.cells()
        columns = [cells[name].to_pylist() for name in ("depot_id", "date", "orders")]
        found += zip(*columns, strict=True)
    return found


@pytest.mark.parametrize(
    "end", ["\n", "\r\n", "\r"], ids=["unix", "windows", "old mac"]
)
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["bare", "BOM"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_every_line_end_and_separator_reads_alike(tmp_path, end, mark, separator):
    text = end.join([HEADER, " A ,2024-01-01, 5 ", "", "B,2024-01-02,"]) + end
    data = mark + text.replace(",", separator).encode()
    file = opened(write(tmp_path / "x.csv", data))
    expected = [("A", "2024-01-01", "5"), ("B", "2024-01-02", None)]
    assert all_rows(file) == expected
    assert all_rows(file, rowwise=True) == expected


def test_a_header_below_a_banner_is_found(tmp_path):
    text = ",,\nReport of depots,,\n,,\n ORDERS , Depot_ID ,Date\n7,A,2024-01-01\n"
    assert all_rows(opened(write(tmp_path / "x.csv", text))) == [
        ("A", "2024-01-01", "7")
    ]


def test_a_header_is_not_looked_for_after_fifty_lines(tmp_path):
    path = write(tmp_path / "x.csv", "banner\n" * 50 + f"{HEADER}\nA,2024-01-01,1\n")
    with pytest.raises(RefusedFileError, match=r"not of a known kind.*found: banner"):
        opened(path)


def test_another_encoding_is_read_when_it_is_said(tmp_path):
    text = f"{HEADER}\nGenève,2024-01-01,1\n"
    for encoding in ("latin-1", "utf-16"):
        path = write(tmp_path / "x.csv", text.encode(encoding))
        file = opened(path, encoding=encoding)
        assert all_rows(file) == [("Genève", "2024-01-01", "1")]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "x.csv is empty"),
        (b"\n\n  \n", "x.csv is empty"),
        (b",,\n,,\n", "no column names in its first 50 lines"),
        (
            b"\x89PNG\r\n\x1a\n\0\0\0",
            r"x.csv is binary data \(the first zero byte is in line 3\), not text",
        ),
        (b"PAR1\x15\x04\0\0", "x.csv is Parquet, not text"),
        (HEADER.encode("utf-16"), "--encoding utf-16"),
        (HEADER.encode("utf-32"), "--encoding utf-32"),
        (HEADER.encode("utf-16-le"), "--encoding utf-16-le"),
        (HEADER.encode("utf-16-be"), "--encoding utf-16-be"),
        (HEADER.encode("utf-32-le"), "--encoding utf-32-le"),
        (b"\5\0\0\0\7\0\0\0" * 9, "binary data"),
        (
            f"{HEADER}\nA,x\0,1\n".encode(),
            r"binary data \(the first zero byte is in line 2\)",
        ),
        (f"{HEADER}\nA,x,1\nGen\xe8ve,x,1\n".encode("latin-1"), "not UTF-8 in line 3"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, data, says):
    with pytest.raises(RefusedFileError, match=says):
        opened(write(tmp_path / "x.csv", data))


@given(
    st.lists(
        st.tuples(
            st.text(alphabet='ab",\n\r|; é', max_size=6),
            st.sampled_from(["2024-01-01", "", "x\ny"]),
            st.sampled_from(["1", "", '"']),
        ),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 40),
)
def test_however_it_is_cut_into_blocks_the_rows_are_the_same(
    tmp_path_factory, rows, size
):
    path = tmp_path_factory.mktemp("cut") / "x.csv"
    body = [
        ",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows
    ]
    write(path, "\n".join([HEADER, *body]) + "\n")
    expected = [
        tuple(_unix(cell).strip() or None for cell in row)
        for row in rows
        if _filled(row)
    ]
    file = opened(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_blocks, "BLOCK_BYTES", size)
        patch.setattr(text_blocks, "MAX_UNFINISHED_ROW_BYTES", 1 << 20)
        assert all_rows(file, rowwise=True) == expected
        at_once = [row for row in all_rows(file) if any(row)]
    assert at_once == expected


def _unix(cell):
    return cell.replace("\r\n", "\n").replace("\r", "\n")


def _filled(row):
    return any(cell.strip() for cell in row)


@pytest.mark.parametrize("swallowed", [0, 5, 20_000])
def test_a_quote_that_never_closes_is_refused(tmp_path, swallowed):
    rows = "".join(f"A{number},2024-01-01,1\n" for number in range(swallowed))
    path = write(
        tmp_path / "x.csv", f'{HEADER}\nA,2024-01-01,1\nB,2024-01-01,"1\n{rows}'
    )
    with pytest.raises(RefusedFileError, match="a quote that is never closed"):
        all_rows(opened(path), rowwise=True)
    assert any(batch.cells() is None for batch in opened(path).batches())


def test_a_quote_in_the_middle_of_a_cell_is_a_letter_like_others(tmp_path):
    text = f'{HEADER}\nA 5" pipe,2024-01-01,1\nB,2024-01-01,2\nC,2024-01-01,3'
    path = write(tmp_path / "x.csv", text)
    assert [row[0] for row in all_rows(opened(path), rowwise=True)] == [
        'A 5" pipe',
        "B",
        "C",
    ]
    (batch,) = opened(path).batches()
    assert batch.parse_rows().truncated_line == 4
