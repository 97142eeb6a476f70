"""Finding files at paths, in folders, behind links and at URLs, and skipping the rest."""

import os
from dataclasses import replace
from pathlib import Path

import boto3
import pytest
from pyarrow import fs

from forecaster.errors import RefusedFileError
from pipelines.ingest.load import FileOptions, ingest
from pipelines.ingest.sources import files, spool
from pipelines.ingest.sources.files import Skipped, Source, find_sources
from tests.pipelines.ingest.ingesting import DAILY, counts, load, write


def names(*paths):
    return [
        each.name if isinstance(each, Source) else each.reason
        for each in find_sources([str(path) for path in paths])
    ]


def test_a_folder_yields_its_loadable_files_sorted_by_path_and_ignores_others(
    tmp_path,
):
    below = tmp_path / "2024"
    hidden = tmp_path / ".hidden"
    below.mkdir()
    hidden.mkdir()
    for name in ("b.csv", "a.parquet", "c.CSV", "d.csv.gz", "e.tsv"):
        write(tmp_path / name, "x")
    write(below / "z.csv", "x")
    for path in (".x.csv", "x.csv.tmp", "x.csv.part", "README.md", ".hidden/y.csv"):
        write(tmp_path / path, "x")
    found = "z.csv a.parquet b.csv c.CSV d.csv.gz e.tsv"
    assert names(tmp_path) == found.split()


def test_a_file_named_twice_is_taken_once(tmp_path):
    path = write(tmp_path / "a.csv", "x")
    assert names(path, tmp_path, tmp_path / "." / "a.csv") == ["a.csv"]


def test_missing_unknown_and_special_files_are_skipped_with_a_reason(tmp_path):
    write(tmp_path / "notes.txt", "x")
    os.mkfifo(tmp_path / "pipe.csv")
    assert names(tmp_path / "gone.csv") == [
        f"{tmp_path}/gone.csv does not exist. Check the path."
    ]
    (unknown,) = names(tmp_path / "notes.txt")
    assert "ends in none of .csv" in unknown
    (special,) = names(tmp_path / "pipe.csv")
    assert "is not an ordinary file" in special


def test_a_name_that_is_not_utf_8_is_refused_and_the_others_are_read(tmp_path):
    write(tmp_path / os.fsdecode(b"caf\xe9.csv"), "x")
    write(tmp_path / "tea.csv", "x")
    reason, other = names(tmp_path)
    assert other == "tea.csv"
    assert "caf\ufffd.csv has a name or a folder that is not UTF-8." in reason


def test_a_link_is_followed_inside_its_folder_only(tmp_path):
    outside = write(tmp_path / "secret.csv", "x")
    folder = tmp_path / "inbox"
    folder.mkdir()
    write(folder / "a.csv", "x")
    (folder / "b.csv").symlink_to(folder / "a.csv")
    (folder / "c.csv").symlink_to(outside)
    found = find_sources([str(folder)])
    assert [isinstance(each, Skipped) for each in found] == [False, False, True]
    assert "is a link to a folder, or to a file outside the folder" in found[2].reason
    # Links to folders are skipped, with a reason.
    (folder / "d").symlink_to(tmp_path)
    linked = find_sources([str(folder)])[3]
    assert isinstance(linked, Skipped)
    assert f"{folder}/d is a link to a folder" in linked.reason
    # A link to itself does not stop the search.
    (folder / "e.csv").symlink_to(folder / "e.csv")
    assert "does not exist" in find_sources([str(folder)])[4].reason
    # A link given by its own path is followed.
    assert names(folder / "c.csv") == ["c.csv"]


def test_a_url_opens_a_file_and_a_folder(tmp_path):
    path = write(tmp_path / "a.csv", "text")
    write(tmp_path / ".b.csv", "text")
    (alone,) = find_sources([path.as_uri()])
    (inside,) = find_sources([tmp_path.as_uri()])
    assert alone.open_stream().read() == b"text"
    assert inside.address == alone.address == path.as_uri()


def test_an_unknown_url_scheme_is_reported_without_its_password():
    (reason,) = names("nosuch://user:hunter2@x/a.csv")
    assert "file://, s3://, gs://, abfs://" in reason
    assert "hunter2" not in reason


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path):
    path = write(tmp_path / "a.csv", "x")
    (source,) = find_sources([str(path)])
    source.require_unchanged()
    write(path, "more")
    with pytest.raises(RefusedFileError, match=r"a\.csv changed while it was read"):
        source.require_unchanged()


def test_the_digest_is_of_the_file_as_stored(tmp_path):
    path = write(tmp_path / "a.csv.gz", b"not packed at all")
    (source,) = find_sources([str(path)])
    # Output of `printf 'not packed at all' | sha256sum`.
    assert source.sha256() == (
        "ac66d111265cb32b89df78f24b57af08964f5bfecc21b422f392f9d03a3834ef"
    )


@pytest.fixture
def folders(tmp_path):
    """A folder with the folders a, b and c, each with a file."""
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.csv").write_text("x")
    return tmp_path


def folders_found(folder):
    found = find_sources([str(folder)])
    return {
        kind: [each.display_path for each in found if isinstance(each, kind)]
        for kind in (Source, Skipped)
    }


def test_a_folder_that_cannot_be_listed_hides_no_other_folder(folders, monkeypatch):
    list_folder = os.scandir

    def scandir(path):
        if Path(path) == folders / "b":
            raise PermissionError(13, "Permission denied", str(path))
        return list_folder(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert folders_found(folders) == {
        Source: [str(folders / name / "x.csv") for name in "ac"],
        Skipped: [str(folders / "b")],
    }


def test_a_folder_that_cannot_be_entered_hides_no_other_folder(folders, monkeypatch):
    to_source = files.local_source

    def source(path, *rest):
        if "/b/" in str(path):
            raise PermissionError(13, "Permission denied")
        return to_source(path, *rest)

    monkeypatch.setattr(files, "local_source", source)
    assert folders_found(folders) == {
        Source: [str(folders / name / "x.csv") for name in "ac"],
        Skipped: [str(folders / "b" / "x.csv")],
    }


def test_the_lock_file_of_a_workbook_is_named_like_any_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("~$orders.xlsx", "good.csv"):
        Path(name).write_bytes(b"x")
    assert len(find_sources(["good.csv", "~$orders.xlsx"])) == 2


def test_the_reason_of_a_link_in_another_encoding_can_be_stored(tmp_path):
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/l\xefnk.csv")).symlink_to("/etc/passwd")
    [link] = find_sources([str(tmp_path)])
    assert isinstance(link, Skipped)
    (link.display_path + link.reason).encode()


class Forbidden(fs.FileSystem):
    """A file system that lists its files, but lets none be read."""

    def __init__(self):
        self.get_file_info = fs.LocalFileSystem().get_file_info

    def open_input_stream(self, path, **_):
        raise PermissionError(13, f"Failed to open local file '{path}'")

    open_input_file = open_input_stream


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.xlsx", "a.parquet", "a.zip"])
def test_a_file_that_may_not_be_read_asks_for_rights(
    tmp_path, name, clean_engine, settings, monkeypatch
):
    (tmp_path / name).write_text("x")
    [source] = find_sources([str(tmp_path / name)])
    forbidden = [replace(source, system=Forbidden())]
    monkeypatch.setattr(spool, "find_sources", lambda *_: forbidden)
    [file] = ingest(clean_engine, ["x"], FileOptions(kind="daily"), settings).files
    assert file.error == (
        f"{name} cannot be read: this user is not allowed to. Let the user that runs this "
        "program read it."
    )


def test_a_file_moved_while_its_folder_is_listed_is_not_refused(tmp_path, monkeypatch):
    kept, moved = (write(tmp_path / name, "x") for name in ("a.csv", "b.csv"))
    walk = os.walk

    def listed_then_moved(*args, **kwargs):
        for each in walk(*args, **kwargs):
            moved.unlink(missing_ok=True)
            yield each

    monkeypatch.setattr(files.os, "walk", listed_then_moved)
    [found] = find_sources([str(tmp_path)])
    assert (type(found), found.path) == (Source, str(kept))


def test_a_key_that_cannot_be_opened_is_refused_alone(clean_engine, s3):
    client = boto3.client(
        "s3", endpoint_url=s3.address, region_name="us-east-1",
        aws_access_key_id="key", aws_secret_access_key="s3cret",
    )  # fmt: skip
    for name in ("a", "b//b", "c"):
        body = f"{DAILY}{name[0].upper()},2024-01-01,5\n"
        client.put_object(Bucket="night", Key=f"odd/{name}.csv", Body=body.encode())
    report = load(clean_engine, s3.url.replace("/fleet", "/odd"))
    assert [bool(file.error) for file in report.files] == [False, True, False]
    assert counts(report, "daily") == (2, 0, 0)
