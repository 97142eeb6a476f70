"""Many small files go in together, and come to the same as one by one."""

from unittest import mock

import pytest
import sqlalchemy as sa

from pipelines.ingest import service, small_files
from tests.conftest import empty_tables
from tests.pipelines.ingest.ingesting import counts, data, load, write

pytestmark = pytest.mark.db

ORDERS = "order_id,depot_id,ordered_at\n"


def orders(number, depot="A", day=1):
    return ORDERS + f"{number},{depot},2024-01-{day:02}T10:00\n"


def write_all(folder, texts):
    for at, text in enumerate(texts):
        write(folder / f"{at:03}.csv", text)


def both_ways(engine, folder):
    """The same folder loaded together, and each file by itself."""
    together = load(engine, folder)
    found = data(engine), recorded(engine)
    empty_tables(engine)
    with mock.patch.object(service, "MAX_FILES_ONE_BY_ONE", 10**6):
        alone = load(engine, folder)
    assert (data(engine), recorded(engine)) == found
    assert together == alone
    return together


def recorded(engine):
    with engine.connect() as connection:
        found = connection.execute(
            sa.text(
                "select f.path, o.order_id, f.accepted, f.unchanged, f.rejected "
                "from files f left join orders o using (file_id) order by 1, 2"
            )
        )
        return [tuple(row) for row in found]


def test_new_files_go_in_with_few_statements(clean_engine, tmp_path):
    write_all(tmp_path, [orders(number) for number in range(40)])
    statements = []

    def note(_connection, _cursor, statement, *_):
        statements.append(statement)

    sa.event.listen(clean_engine, "before_cursor_execute", note)
    try:
        report = load(clean_engine, tmp_path)
    finally:
        sa.event.remove(clean_engine, "before_cursor_execute", note)
    assert counts(report, "orders") == (40, 0, 0)
    assert len(statements) < 40


def test_new_files_come_to_the_same_as_one_by_one(clean_engine, tmp_path):
    write_all(tmp_path, [orders(at, "AB"[at % 2], at % 20 + 1) for at in range(30)])
    both_ways(clean_engine, tmp_path)


def test_so_do_files_that_correct_repeat_and_break_each_other(clean_engine, tmp_path):
    texts = [orders(at) for at in range(30)]
    texts[7] = orders(3, "B")  # corrects
    texts[11] = orders(2)  # repeats
    texts[13] = orders(99) + "100,A,never\n101,A,2024-01-01T09:00\n"  # has a bad row
    texts[17] = ORDERS  # has none
    texts[19] = texts[18]  # the same bytes
    texts[23] = "depot_id,date,orders\nA,2024-01-01,7\n"
    texts[25] = orders("q").replace("q", '"odd, ""id"""')
    write_all(tmp_path, texts)
    report = both_ways(clean_engine, tmp_path)
    states = [file.state for file in report.files]
    assert (states[17], states[19]) == ("loaded", "unchanged")
    again = load(clean_engine, tmp_path)
    assert {file.state for file in again.files} == {"unchanged"}


def test_a_file_that_changes_meanwhile_is_refused_and_the_others_go_in(
    clean_engine, tmp_path, monkeypatch
):
    write_all(tmp_path, [orders(number) for number in range(20)])
    grown = tmp_path / "005.csv"
    add_rows = small_files._add_rows

    def grow(*given):
        add_rows(*given)
        with grown.open("a") as file:
            file.write("500,A,2024-01-01T10:00\n")

    monkeypatch.setattr(small_files, "_add_rows", grow)
    report = load(clean_engine, tmp_path)
    states = {file.path.rsplit("/", 1)[-1]: file.state for file in report.files}
    assert states.pop("005.csv") == "refused"
    assert set(states.values()) == {"loaded"}


def test_a_small_file_that_is_packed_is_not_held(clean_engine, tmp_path):
    import gzip

    for at in range(20):
        (tmp_path / f"{at:03}.csv.gz").write_bytes(gzip.compress(orders(at).encode()))
    with mock.patch.object(service, "load_batch", side_effect=AssertionError):
        assert counts(load(clean_engine, tmp_path), "orders") == (20, 0, 0)


def test_a_dry_run_of_many_changes_nothing(clean_engine, tmp_path):
    write_all(tmp_path, [orders(number) for number in range(20)])
    before = data(clean_engine)
    assert counts(load(clean_engine, tmp_path, dry_run=True), "orders") == (20, 0, 0)
    assert data(clean_engine) == before
