"""Rows come from standard input, web servers, archives and spreadsheets, too."""

import gzip
import io
import os
import shutil
import tempfile
import threading
import zipfile
from base64 import b64encode
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pipelines.ingest.sources import temporary
from pipelines.ingest.sources.files import without_credentials
from pipelines.ingest.sources.spool import Spool
from pipelines.settings import Settings
from tests.pipelines.faults.faults import small_disk
from tests.pipelines.ingest.ingesting import (
    DAILY,
    load,
    load_one,
    quarantined,
    rows,
    write,
)
from tests.pipelines.ingest.workbooks import workbook

ONE = DAILY + "A,2024-01-01,7\n"


@pytest.fixture
def web():
    """A web server: `files`, their Content-Length (`lengths`) and `encodings`, and requests `seen`."""
    files, lengths, encodings, seen = {}, {}, {}, []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append((self.path, self.headers.get("Authorization")))
            if self.path not in files:
                self.send_error(404)
                return
            kind, body = files[self.path]
            self.send_response(200)
            self.send_header("Content-Type", kind)
            if self.path in lengths:
                self.send_header("Content-Length", str(lengths[self.path]))
            if self.path in encodings:
                self.send_header("Content-Encoding", encodings[self.path])
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    # How often it looks whether it shall end.
    serve = partial(server.serve_forever, poll_interval=0.02)
    thread = threading.Thread(target=serve)
    thread.start()
    server.files, server.lengths, server.seen = files, lengths, seen
    server.encodings = encodings
    server.url = f"127.0.0.1:{server.server_port}"
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def archive(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in members.items():
            packed.writestr(name.replace("__", "/").replace("_", "."), text)
    return path


def test_a_file_of_a_web_server_goes_in_and_its_password_is_not_told(clean_engine, web):
    web.files["/K%C3%B6ln/a.csv?token=s3cret"] = ("text/csv", ONE.encode())
    url = f"http://me:s3cret@{web.url}/Köln/a.csv?token=s3cret"
    file = load_one(clean_engine, url)
    assert (file.state, file.counts.accepted) == ("loaded", 1)
    assert web.seen[0][1] == f"Basic {b64encode(b'me:s3cret').decode()}"
    (entry,) = rows(clean_engine, "files")
    assert entry[0] == file.path == f"http://{web.url}/Köln/a.csv"
    assert "s3cret" not in str(entry)
    assert load_one(clean_engine, url).state == "unchanged"


def test_what_a_url_without_suffix_holds_is_told_by_its_bytes(clean_engine, web):
    web.files["/export"] = ("text/html", gzip.compress(ONE.encode()))
    assert load_one(clean_engine, f"http://{web.url}/export").counts.accepted == 1


@pytest.mark.parametrize("path", ["/a.csv", "/a.csv.gz", "/export"])
def test_what_a_server_compresses_unasked_goes_in(clean_engine, web, path):
    web.files[path] = ("text/csv", gzip.compress(ONE.encode()))
    web.encodings[path] = "gzip"
    assert load_one(clean_engine, f"http://{web.url}{path}").counts.accepted == 1


def test_what_a_server_says_wrongly_that_it_compressed_is_refused(clean_engine, web):
    web.files["/a.csv"] = ("text/csv", ONE.encode())
    web.encodings["/a.csv"] = "gzip"
    error = load_one(clean_engine, f"http://{web.url}/a.csv").error
    assert "/a.csv cannot be fetched: it is not compressed as its server says" in error


def test_a_compressed_transfer_that_was_cut_is_refused(clean_engine, web):
    rows_of = (f"A,2024-01-{n % 28 + 1:02},{n * 7919 % 9973}\n" for n in range(2000))
    body = gzip.compress((DAILY + "".join(rows_of)).encode())
    web.files["/a.csv"] = ("text/csv", body[: len(body) // 2])
    web.encodings["/a.csv"] = "gzip"
    error = load_one(clean_engine, f"http://{web.url}/a.csv").error
    assert "/a.csv cannot be fetched: the transfer ended before the end" in error


def test_a_database_is_refused_without_its_password(clean_engine):
    error = load_one(clean_engine, "postgresql://me:s3cret@127.0.0.1:1/shop").error
    assert "is a database" in error
    assert "pipe them into 'harbor ingest -'" in error
    assert "s3cret" not in error


def test_a_url_that_is_not_there_is_refused_in_a_sentence(clean_engine, web):
    error = load_one(clean_engine, f"http://u:s3cret@{web.url}/gone.csv").error
    assert error.startswith(f"http://{web.url}/gone.csv cannot be fetched:")
    assert "Not Found" in error


@pytest.mark.parametrize(
    ("missing", "state"), [(0, "loaded"), (1, "refused")], ids=["whole", "cut"]
)
def test_a_transfer_that_was_cut_is_refused(clean_engine, web, missing, state):
    body = (DAILY + "A,2024-01-01,7\nA,2024-01-02,8\n").encode()
    web.files["/a.csv"] = ("text/csv", body[: len(body) - missing])
    web.lengths["/a.csv"] = len(body)
    file = load_one(clean_engine, f"http://{web.url}/a.csv")
    assert file.state == state
    if missing:
        assert "/a.csv cannot be fetched: the transfer ended before" in file.error
        assert rows(clean_engine, "daily_counts") == []


@pytest.mark.parametrize(
    "url",
    [
        "http://me:s3cret@127.0.0.1:port/a.csv",
        "http://me:s3cret@[::1/a.csv?token=s3cret",
        "http://me:s3cret@a..b/a.csv",
    ],
)
def test_an_address_that_is_not_valid_is_refused_in_a_sentence(tmp_path, url):
    (refused,) = Spool(lambda: tmp_path, 1 << 20).find([url], tmp_path)
    assert "cannot be fetched: the address is not valid." in refused.reason
    assert "s3cret" not in refused.reason


def test_what_is_fetched_is_bounded(clean_engine, web):
    web.files["/big.csv"] = ("text/csv", ONE.encode() + b"\n" * (2 << 20))
    settings = Settings(max_file_mib=1)
    url = f"http://{web.url}/big.csv"
    error = load_one(clean_engine, url, settings=settings).error
    assert "holds more than 1 MiB (HARBOR_MAX_FILE_MIB)" in error


def test_every_file_of_an_archive_goes_in_under_its_own_name(clean_engine, tmp_path):
    path = archive(
        tmp_path / "north.zip",
        b_csv=DAILY + "B,2024-01-01,1\nB,2024-01-02,\n",
        in__a_csv=ONE,
        readme_txt="not ours",
    )
    report = load(clean_engine, tmp_path)
    display_path = [file.path.removeprefix(f"{path}/") for file in report.files]
    assert display_path == ["b.csv", "in/a.csv"]
    assert len(rows(clean_engine, "daily_counts")) == 3
    assert {file.state for file in load(clean_engine, path).files} == {"unchanged"}


def test_a_spreadsheet_with_bytes_that_are_no_utf8_is_refused_in_a_sentence(
    clean_engine, tmp_path
):
    error = ["A", ("date", 45292), ("error", "#XXX!")]
    table = {"S": [["depot_id", "date", "orders"], error]}
    path, broken = workbook(tmp_path / "a.xlsx", table), tmp_path / "b.xlsx"
    with zipfile.ZipFile(path) as parts, zipfile.ZipFile(broken, "w") as changed:
        for part in parts.namelist():
            changed.writestr(part, parts.read(part).replace(b"#XXX!", b"#\xff!"))
    assert "cannot be read as a spreadsheet" in load_one(clean_engine, broken).error


def test_formulas_of_another_sheet_are_not_taken_for_this_ones(clean_engine, tmp_path):
    sheets = {
        "A": [["depot_id", "date", "orders"], ["X", ("date", 45292), 5]],
        "B": [[], [("formula", "1+1")] * 3],
    }
    file = load_one(clean_engine, workbook(tmp_path / "a.xlsx", sheets))
    assert "has rows in 2 sheets (A, B)" in file.error


def test_an_entry_that_leads_out_of_its_archive_is_skipped_by_name(
    clean_engine, tmp_path
):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("../b.csv", DAILY + "B,2024-01-01,1\n")
        packed.writestr("/c.csv", DAILY + "C,2024-01-01,1\n")
        packed.writestr("..\\d.csv", DAILY + "D,2024-01-01,1\n")
        packed.writestr("a.csv", ONE)
    report = load(clean_engine, path)
    states = {file.path.removeprefix(f"{path}/"): file for file in report.files}
    assert states.pop("a.csv").state == "loaded"
    assert sorted(states) == ["../b.csv", "..\\d.csv", "/c.csv"]
    for name, file in states.items():
        assert f"has the entry {name}, whose path leads out" in file.error
    assert [row[0] for row in rows(clean_engine, "daily_counts")] == ["A"]


def test_what_a_killed_load_left_is_swept_by_the_next(
    clean_engine, tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, used, new = (tmp_path / f"{temporary.PREFIX}{name}" for name in "abc")
    for folder in (left, used, new):
        folder.mkdir()
        write(folder / "copy.csv", ONE)
    for folder in (left, used):
        os.utime(folder, (0, 0))
    path = tmp_path / "own" / "a.zip"
    path.parent.mkdir()
    with temporary.locked(used):
        load(clean_engine, archive(path, a_csv=ONE))
    assert sorted(tmp_path.glob(f"{temporary.PREFIX}*")) == [used, new]


def test_a_full_temporary_folder_keeps_no_file_out_that_needs_no_copy(
    clean_engine, tmp_path
):
    inbox, days = tmp_path / "inbox", "A,2024-01-02,7\n" * 200_000
    inbox.mkdir()
    archive(inbox / "a.zip", a_csv=ONE, b_csv=DAILY + days)
    write(inbox / "b.csv", ONE)
    with small_disk(1) as disk, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(disk))
        refused, loaded = load(clean_engine, inbox).files
        assert shutil.disk_usage(disk).used == 0
    assert (refused.state, loaded.state) == ("refused", "loaded")
    assert "a.zip cannot be unpacked or copied: there is no room" in refused.error


def test_a_file_that_needs_no_copy_needs_no_temporary_folder(
    clean_engine, tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    for number in "12":
        archive(tmp_path / f"a{number}.zip", a_csv=ONE)
    write(tmp_path / "b.csv", ONE)
    *refused, loaded = load(clean_engine, tmp_path).files
    assert loaded.state == "loaded"
    assert all("no room in the temporary folder" in file.error for file in refused)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: write(path, b"PK no archive"), "a.zip cannot be unpacked: "),
        (lambda path: archive(path, readme_txt="x"), "holds no file that ends in .csv"),
    ],
    ids=["broken", "nothing in it"],
)
def test_an_archive_that_is_of_no_use_is_refused(clean_engine, tmp_path, make, said):
    file = load_one(clean_engine, make(tmp_path / "a.zip"))
    assert file.state == "refused"
    assert said in file.error


def test_an_archive_that_unpacks_to_too_much_is_refused_whole(clean_engine, tmp_path):
    bomb = archive(tmp_path / "a.zip", a_csv=ONE, b_csv=DAILY + "\n" * (2 << 20))
    settings = Settings(max_file_mib=1)
    error = load_one(clean_engine, bomb, settings=settings).error
    assert "a.zip, once unpacked, holds more than 1 MiB" in error
    assert rows(clean_engine, "daily_counts") == []


def test_a_corrupt_member_refuses_its_archive_and_no_other_file(clean_engine, tmp_path):
    corrupt = archive(tmp_path / "a.zip", a_csv=ONE * 50)
    packed = bytearray(corrupt.read_bytes())
    # The data follow 30 bytes of header and a name of 5; there is no block type 3.
    packed[35] = 0x07
    corrupt.write_bytes(packed)
    write(tmp_path / "b.csv", ONE)
    refused, loaded = load(clean_engine, tmp_path).files
    assert "a.zip cannot be unpacked: Error -3" in refused.error
    assert "Send an intact zip" in refused.error
    assert loaded.state == "loaded"


@pytest.mark.parametrize(
    ("second", "place"),
    [(DAILY + "B,2024-01-01,1\n", "done/n.zip"), ("what,is\n1,2\n", "n.zip")],
    ids=["loaded", "refused"],
)
def test_an_archive_leaves_the_inbox_once_all_of_it_is_loaded(
    clean_engine, tmp_path, second, place
):
    inbox = Settings(home=tmp_path).inbox
    inbox.mkdir()
    archive(inbox / "n.zip", a_csv=ONE, b_csv=second)
    load(clean_engine, inbox, settings=Settings(home=tmp_path))
    assert list(inbox.rglob("*.zip")) == [inbox / place]


def test_a_spreadsheet_goes_in_with_its_dates_and_numbers(clean_engine, tmp_path):
    # 45292 is 2024-01-01, as spreadsheets count days.
    path = tmp_path / "counts.xlsx"
    header = ["depot_id", "date", "orders"]
    workbook(path, {"Counts": [header, ["A", ("date", 45292), 7], ["B", "x", 1]]})
    file = load_one(clean_engine, path)
    assert (file.counts.accepted, file.counts.rejected) == (1, 1)
    (row,) = rows(clean_engine, "daily_counts")
    assert (row[0], str(row[1]), row[2]) == ("A", "2024-01-01", 7)
    orders = tmp_path / "orders.xlsx"
    moment = ("timestamp", 45292.5)
    workbook(orders, {"S": [["order_id", "depot_id", "ordered_at"], [12, "A", moment]]})
    load(clean_engine, orders)
    (order,) = rows(clean_engine, "orders")
    assert (order[0], str(order[2])) == ("12", "2024-01-01 12:00:00")


def test_a_formula_that_failed_is_no_count_that_is_missing(clean_engine, tmp_path):
    table = [["A", ("date", 45292 + day), day] for day in range(6)]
    table[0][2], table[1][2] = ("error", "#DIV/0!"), ("formula", "1+1")
    table[2][0] = ("error", "#REF!")
    path = workbook(
        tmp_path / "a.xlsx", {"S": [["depot_id", "date", "orders"], *table]}
    )
    load(clean_engine, path)
    assert [row[2] for row in rows(clean_engine, "daily_counts")] == [3, 4, 5]
    assert quarantined(clean_engine) == [
        (2, "orders", "#DIV/0!", "is not a number"),
        (3, "orders", "#N/A", "is not a number"),
        (4, "depot_id", "#REF!", "is a spreadsheet error"),
    ]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda path: workbook(path, {"Jan": [["a"]], "Feb": [["b"]]}),
            "rows in 2 sheets (Jan, Feb)",
        ),
        (lambda path: write(path, b"no book"), "cannot be read as a spreadsheet"),
        (lambda path: workbook(path, {"Jan": []}), "is empty"),
    ],
    ids=["two sheets", "broken", "empty"],
)
def test_a_spreadsheet_that_is_not_one_table_is_refused(
    clean_engine, tmp_path, make, said
):
    path = tmp_path / "a.xlsx"
    make(path)
    assert said in load_one(clean_engine, path).error


@pytest.fixture
def harbor(harbor, monkeypatch):
    """Runs a command with standard input, and returns its exit code."""

    def run(*words, given):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))
        return harbor(*words).returncode

    return run


@pytest.mark.parametrize("pack", [lambda text: text, gzip.compress], ids=["csv", "gz"])
def test_standard_input_is_read_with_a_kind(harbor, clean_engine, pack):
    assert harbor("ingest", "-", given=ONE.encode()) == 2
    assert harbor("ingest", "-", "--kind", "daily", given=pack(ONE.encode())) == 0
    assert len(rows(clean_engine, "daily_counts")) == 1


def test_a_spreadsheet_and_an_archive_on_standard_input_are_told_apart(
    harbor, clean_engine, tmp_path
):
    sheet = workbook(
        tmp_path / "a.xlsx",
        {"S": [["depot_id", "date", "orders"], ["A", "2024-01-01", 7]]},
    )
    packed = archive(tmp_path / "b.zip", b_csv=DAILY + "B,2024-01-01,1\n")
    for path in (sheet, packed):
        assert harbor("ingest", "-", "--kind", "daily", given=path.read_bytes()) == 0
    assert [row[0] for row in rows(clean_engine, "daily_counts")] == ["A", "B"]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:p/w@host/db", "postgresql://host/db"),
        ("postgresql://u:1/w@host/db", "postgresql://host/db"),
        ("mysql+pymysql://u:p#w@host/db", "mysql+pymysql://host/db"),
        ("s3://key:p/w@bucket/a.csv", "s3://bucket/a.csv"),
        ("http://u:p?w@host/a.csv", "http://host/a.csv"),
        ("abfs://me:p/w@host/a.csv", "abfs://host/a.csv"),
        # In an Azure address, the part before @ is the container.
        ("abfs://shop@host/a.csv", "abfs://shop@host/a.csv"),
        ("http://u:p@host:80/a@b.csv?sig=p@w", "http://host:80/a@b.csv"),
        ("http://host:80/a.csv?mail=me@host&sig=p", "http://host:80/a.csv"),
        ("s3://bucket/a@b.csv", "s3://bucket/a@b.csv"),
    ],
)
def test_a_password_is_never_shown_whatever_it_holds(url, shown):
    assert without_credentials(url) == shown


def test_a_file_may_be_called_http(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "http", ONE)
    (refused,) = Spool(lambda: tmp_path, 1 << 20).find(["http"], tmp_path)
    assert "http ends in none of" in refused.reason
