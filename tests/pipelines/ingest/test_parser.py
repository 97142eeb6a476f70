"""The parser in a child process: the same rows, a limit on memory, recovery from crashes."""

import os
import zipfile
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from forecaster.errors import RefusedFileError
from pipelines.ingest.load import FileOptions, ingest
from pipelines.ingest.rows.parser import Parser
from pipelines.ingest.sources.files import find_sources
from pipelines.settings import Settings
from tests.pipelines.ingest.ingesting import DAILY, ORDERS, TODAY, write, write_parquet
from tests.pipelines.ingest.workbooks import workbook
from tests.processes import run_python


def chunks_of(parser, path, **options):
    """Column mapping, conventions and chunks of a file, with rows as plain bytes."""
    (source,) = find_sources([str(path)])
    mapping = parser.open(source, FileOptions(**options), TODAY)
    conventions, chunks = parser.parse()
    plain = [vars(chunk) | {"rows": bytes(chunk.rows)} for chunk in chunks]
    return mapping, conventions, plain


@pytest.fixture(scope="module")
def child():
    with Parser(memory_mib=768) as parser:
        yield parser


@pytest.fixture
def odd_files(tmp_path):
    """Files with bad rows, day/month dates, a half row, PNG bytes, Parquet columns, and orders."""
    days = "".join(f"A,{day:02}/01/2024,{day}\n" for day in range(1, 32))
    texts = {
        "a": DAILY + "A,2024-01-01,1\n\nA,soon,2\nA\nB,2024-01-01,3\n",
        "b": DAILY + days,
        "c": DAILY + "A,2024-01-0",
        "d": b"\x89PNG\0\0",
        "e": ORDERS + "1,A,2024-01-01T10:00\n2,B,2024-01-01\n",
    }
    columns = {
        "depot_id": ["A", "B"],
        "date": [date(2024, 1, 2)] * 2,
        "orders": [1, -1],
    }
    return [
        *(write(tmp_path / f"{name}.csv", text) for name, text in texts.items()),
        write_parquet(tmp_path / "f.parquet", **columns),
    ]


def test_a_child_says_what_this_process_would(child, odd_files):
    said = []
    for parser in (child, Parser(memory_mib=0)):
        answers = []
        for path in odd_files:
            try:
                answers.append(chunks_of(parser, path))
            except RefusedFileError as error:
                answers.append(str(error))
        said.append(answers)
    assert said[0] == said[1]
    assert [isinstance(answer, str) for answer in said[0]] == [
        False, False, True, True, False, False,
    ]  # fmt: skip
    assert said[0][1][1].dates.value == "%d/%m/%Y"


def test_a_child_imports_nothing_of_the_database():
    code = "import sys; from pipelines.ingest.rows import parser; print(*sys.modules)"
    assert not {"sqlalchemy", "psycopg", "requests"} & {
        *run_python(code).stdout.split()
    }


def test_a_file_that_unpacks_to_more_than_the_limit_is_one_sentence(child, tmp_path):
    """A file of less than 50 kB, with 200,000 cells of one megabyte each."""
    word = pa.DictionaryArray.from_arrays(
        pa.array([0] * 200_000, pa.int32()), pa.array(["x" * (1 << 20)])
    )
    table = pa.table(
        {"depot_id": word, "date": ["2024-01-01"] * 200_000, "orders": word}
    )
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 50_000
    with pytest.raises(
        RefusedFileError, match=r"needs more memory than its parser may"
    ):
        chunks_of(child, path)
    # The next file is parsed by another child.
    assert chunks_of(child, write(tmp_path / "b.csv", DAILY + "A,2024-01-01,1\n"))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks processes up in /proc")
def test_a_child_that_is_killed_costs_its_file_only_and_none_outlives_its_parser(
    tmp_path,
):
    path = write(tmp_path / "a.csv", DAILY + "A,2024-01-01,1\n")
    with Parser(memory_mib=768) as parser:
        chunks_of(parser, path)
        parser._process.kill()
        with pytest.raises(RefusedFileError, match="or makes it crash"):
            chunks_of(parser, path)
        assert chunks_of(parser, path)[2][0]["n_rows"] == 1
        pid = parser._process.pid
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_file_that_is_known_or_breaks_off_leaves_the_child_fit_for_the_next(
    child, tmp_path
):
    path = write(tmp_path / "a.csv", DAILY + "A,2024-01-01,1\n")
    (source,) = find_sources([str(path)])
    child.open(source, FileOptions(), TODAY)
    assert chunks_of(child, path)[2]
    child.open(source, FileOptions(), TODAY)
    _, chunks = child.parse()
    next(chunks)
    assert chunks_of(child, path)[2]


def test_a_load_tells_of_its_rows_and_bytes_as_they_go_by(clean_engine, tmp_path):
    texts = {
        "a.csv": ORDERS + "1,A,2026-05-01 10:00\n2,A,never\n3,A,2026-05-01 11:00\n",
        "b.csv": ORDERS + "4,A,2026-05-02 10:00\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    size = sum(map(len, texts.values()))
    for _ in ("loaded", "known already"):
        told = []
        ingest(
            clean_engine, [str(tmp_path)], FileOptions(), Settings(max_rejected_ratio=1),
            told.append, today=TODAY,
        )  # fmt: skip
        assert [far.name for far in told] == ["a.csv", "b.csv"]
        assert [far.rows for far in told] == [3, 4]
        assert [far.total for far in told] == [size, size]
        # Header lines are not counted where a file is parsed.
        assert size - 2 * len(ORDERS) <= told[-1].done <= size
        assert 0 < told[0].done < told[-1].done


def test_a_spreadsheet_with_a_stray_far_cell_is_one_sentence(child, tmp_path):
    """Every cell of the grid up to it would take memory, and no header holds the grid's size."""
    near = workbook(tmp_path / "near.xlsx", {"S": [["depot_id", "date", "orders"]]})
    stray = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    with (
        zipfile.ZipFile(near) as parts,
        zipfile.ZipFile(tmp_path / "far.xlsx", "w") as changed,
    ):
        for part in parts.namelist():
            text = parts.read(part).replace(b"</sheetData>", stray)
            changed.writestr(part, text)
    with pytest.raises(RefusedFileError, match=r"far.xlsx needs more memory than"):
        chunks_of(child, tmp_path / "far.xlsx")
