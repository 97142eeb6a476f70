"""Bounds of one file: a small one can unpack to very much."""

import gzip

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from pipelines.ingest import FileOptions, ingest
from tests.pipelines.ingest.ingesting import SETTINGS, TODAY, data

pytestmark = pytest.mark.db

ORDERS = "order_id,depot_id,ordered_at\n"


def load(engine, path, **limits):
    """Loads one file under other limits."""
    settings = SETTINGS.model_copy(update=limits)
    (report,) = ingest(engine, [str(path)], FileOptions(), settings, today=TODAY).files
    return report


def nothing(engine):
    return {table: [] for table in data(engine)}


@pytest.mark.parametrize("memory_mib", [0, 768], ids=["here", "in a child"])
def test_a_small_gz_that_unpacks_to_much_is_refused(clean_engine, tmp_path, memory_mib):
    rows = "".join(f"{at:0>150},A,2024-01-01T10:00\n" for at in range(20_000))
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress((ORDERS + rows).encode()))
    assert path.stat().st_size < 200_000
    limits = {"max_file_mib": 1, "parser_memory_mib": memory_mib}
    refused = load(clean_engine, path, **limits)
    assert "a.csv.gz holds more than 1 MiB once unpacked" in refused.error
    assert data(clean_engine) == nothing(clean_engine)


def test_parquet_is_measured_by_what_its_dictionary_says_not_by_its_keys(
    clean_engine, tmp_path
):
    n_rows = 20_000
    same = pa.array([0] * n_rows, pa.int32())
    table = pa.table(
        {
            "order_id": pa.DictionaryArray.from_arrays(same, ["x" * 150]),
            "depot_id": pa.DictionaryArray.from_arrays(same, ["A"]),
            "ordered_at": pa.DictionaryArray.from_arrays(same, ["2024-01-01"]),
        }
    )
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    assert path.stat().st_size < 5_000
    refused = load(clean_engine, path, max_file_mib=1)
    assert "a.parquet holds more than 1 MiB once unpacked" in refused.error
    assert data(clean_engine) == nothing(clean_engine)
