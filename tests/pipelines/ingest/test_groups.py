"""Files of one kind are loaded together, with the same result as one by one."""

from contextlib import contextmanager

import sqlalchemy as sa

from pipelines.ingest.load import service
from pipelines.ingest.sources.files import Source
from tests.conftest import empty_tables
from tests.pipelines.ingest.ingesting import (
    ORDERS,
    counts,
    data,
    load,
    query,
    rows,
    write,
)


def orders(number, depot="A", day=1):
    return ORDERS + f"{number},{depot},2024-01-{day:02}T10:00\n"


def write_all(folder, texts):
    for at, text in enumerate(texts):
        write(folder / f"{at:03}.csv", text)


def both_ways(engine, folder, monkeypatch):
    """Loads a folder as groups and file by file; asserts that the results are equal."""
    together = load(engine, folder)
    found = data(engine), recorded(engine)
    empty_tables(engine)
    monkeypatch.setattr(service, "MAX_GROUP_FILES", 1)
    alone = load(engine, folder)
    assert (data(engine), recorded(engine)) == found
    assert together == alone
    return together


def recorded(engine):
    return query(
        engine,
        "select f.path, o.order_id, f.accepted, f.unchanged, f.rejected "
        "from files f left join orders o using (file_id) order by 1, 2",
    )


@contextmanager
def noted(engine):
    """Records the statements and the commits inside the block."""
    statements, commits = [], []

    def note(_connection, _cursor, statement, *_):
        statements.append(statement)

    def count(connection):
        commits.append(connection)

    sa.event.listen(engine, "before_cursor_execute", note)
    sa.event.listen(engine, "commit", count)
    try:
        yield statements, commits
    finally:
        sa.event.remove(engine, "before_cursor_execute", note)
        sa.event.remove(engine, "commit", count)


def test_a_file_takes_few_statements_and_no_commit(clean_engine, tmp_path):
    write_all(tmp_path, [orders(number) for number in range(40)])
    with noted(clean_engine) as (statements, commits):
        report = load(clean_engine, tmp_path)
    assert counts(report, "orders") == (40, 0, 0)
    # Beside COPY and the savepoint.
    assert len(statements) < 9 * 40
    assert len(commits) < 4


def test_files_that_correct_repeat_and_break_each_other_come_to_the_same(
    clean_engine, tmp_path, monkeypatch
):
    texts = [orders(at) for at in range(30)]
    texts[7] = orders(3, "B")  # corrects
    texts[11] = orders(2)  # repeats
    texts[13] = orders(99) + "100,A,never\n101,A,2024-01-01T09:00\n"  # has a bad row
    texts[17] = ORDERS  # has no rows
    texts[19] = texts[18]  # the same bytes
    texts[23] = "depot_id,date,orders\nA,2024-01-01,7\n"
    texts[25] = orders("q").replace("q", '"odd, ""id"""')
    write_all(tmp_path, texts)
    report = both_ways(clean_engine, tmp_path, monkeypatch)
    states = [file.state for file in report.files]
    assert (states[17], states[19]) == ("loaded", "unchanged")
    again = load(clean_engine, tmp_path)
    assert {file.state for file in again.files} == {"unchanged"}


def test_a_file_that_changes_meanwhile_is_refused_and_the_others_go_in(
    clean_engine, tmp_path, monkeypatch
):
    write_all(tmp_path, [orders(number) for number in range(20)])
    is_unchanged = Source.is_unchanged

    def grow(source):
        if source.name == "005.csv":
            with (tmp_path / source.name).open("a") as file:
                file.write("500,A,2024-01-01T10:00\n")
        return is_unchanged(source)

    monkeypatch.setattr(Source, "is_unchanged", grow)
    report = load(clean_engine, tmp_path)
    states = {file.path.rsplit("/", 1)[-1]: file.state for file in report.files}
    assert states.pop("005.csv") == "refused"
    assert set(states.values()) == {"loaded"}
    assert "5" not in {row[0] for row in rows(clean_engine, "orders")}


def test_what_a_refused_file_did_is_undone_in_its_group(clean_engine, tmp_path):
    """Before it is refused, the file has named a new depot and had a row rejected."""
    folded = ORDERS + "x,NEW,2024-01-01T10:00\n" * 30 + "y,NEW,never\n"
    write_all(tmp_path, [orders(1), folded, orders(2), orders(3, "NEW")])
    report = load(clean_engine, tmp_path)
    states = [file.state for file in report.files]
    assert states == ["loaded", "refused", "loaded", "loaded"]
    assert [row[0] for row in rows(clean_engine, "orders")] == ["1", "2", "3"]
    assert [row[0] for row in rows(clean_engine, "depots")] == ["A", "NEW"]
    assert rows(clean_engine, "quarantine") == []
    assert len(rows(clean_engine, "files")) == 3


def test_a_group_is_bounded(clean_engine, tmp_path, monkeypatch):
    monkeypatch.setattr(service, "MAX_GROUP_BYTES", 60)
    write_all(tmp_path, [orders(number) for number in range(6)])
    with noted(clean_engine) as (_, commits):
        load(clean_engine, tmp_path)
    assert len(commits) >= 6
