"""An output file: whole or not at all, also of two programs at once."""

import pytest

from pipelines.runs.error_messages import is_expected
from pipelines.whole_file import whole_file


def test_a_file_that_ends_early_leaves_what_was_there(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("before")
    with pytest.raises(UnicodeEncodeError), whole_file(path) as unfinished:
        unfinished.write_text("half \udcff", encoding="utf-8")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
    with whole_file(path) as unfinished:
        unfinished.write_text("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    assert list(tmp_path.iterdir()) == [path]


def test_of_two_at_once_each_is_whole_and_the_later_is_kept(tmp_path):
    path = tmp_path / "paths.parquet"
    with whole_file(path) as first:
        first.write_text("first, begun")
        with whole_file(path) as second:
            second.write_text("second")
        assert path.read_text() == "second"
        first.write_text("first")
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path):
    file, link = tmp_path / "of_today.csv", tmp_path / "scores.csv"
    link.symlink_to(file.name)
    with whole_file(link) as unfinished:
        unfinished.write_text("new")
    assert link.is_symlink()
    assert file.read_text() == "new"


def test_a_folder_that_cannot_be_written_needs_no_traceback(tmp_path):
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "x.csv"
    with pytest.raises(NotADirectoryError) as refused, whole_file(path):
        pass
    assert is_expected(refused.value)
