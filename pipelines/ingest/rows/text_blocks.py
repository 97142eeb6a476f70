"""Decodes a text file and splits it into blocks of complete rows."""

import codecs
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from forecaster.errors import RefusedFileError
from pipelines.ingest.sources.files import Source, first_line

BLOCK_BYTES = 8 << 20
MAX_UNFINISHED_ROW_BYTES = 4 * BLOCK_BYTES
START_CHARS = 4096
ENCODING_OF_MARK = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Encodings by byte order mark; UTF-32 comes first, because its mark begins with UTF-16's."""
BARE_ENCODINGS = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
"""Encodings that are told without a mark, by the first of the column names."""
ASCII_NAMES = re.compile(r"[\t -~]{4}")


@dataclass(frozen=True)
class Block:
    """Complete rows of a text file, in UTF-8 with LF line ends.

    Args:
      first_line: Line number of the first row in the file, from 1.
      is_unfinished: Whether the file ends here without a line end.
      is_doubtful: Whether it may contain a quote that never closes.
    """

    data: bytes
    first_line: int
    is_unfinished: bool = False
    is_doubtful: bool = False

    def after_line(self, line: int) -> "Block":
        """Returns the rows after a line of the file; all if the block begins later."""
        start, at = 0, self.first_line
        while at <= line:
            end = self.data.find(b"\n", start)
            start = len(self.data) if end < 0 else end + 1
            at += 1
        return replace(self, data=self.data[start:], first_line=at)


def read_blocks(source: Source, encoding: str) -> Iterator[Block]:
    """Yields a file in blocks of complete rows; a quoted line end does not end a row.

    Raises:
      RefusedFileError: the bytes are not text in that encoding, or a line is too long.
    """
    rest, line = b"", 1
    encoding = "utf-8" if source.is_workbook else encoding
    for data in _utf8(source, encoding):
        rest += data
        rows_end = _end_of_rows(rest)
        is_doubtful = rows_end == 0 and len(rest) > MAX_UNFINISHED_ROW_BYTES
        if is_doubtful:
            rows_end = rest.rfind(b"\n") + 1
            if rows_end == 0:
                raise RefusedFileError(
                    f"{source.name} has a line of more than "
                    f"{MAX_UNFINISHED_ROW_BYTES >> 20} MiB, which no file of orders has. Check "
                    "the program that wrote it."
                )
        if rows_end:
            yield Block(rest[:rows_end], line, is_doubtful=is_doubtful)
            line += rest.count(b"\n", 0, rows_end)
            rest = rest[rows_end:]
    if rest:
        yield Block(rest, line, is_unfinished=True, is_doubtful=True)


def _end_of_rows(data: bytes) -> int:
    """Returns the end of the last line at which no quote is open."""
    end = data.rfind(b"\n") + 1
    quotes = data.count(b'"', 0, end)
    while end and quotes % 2:
        before = data.rfind(b"\n", 0, end - 1) + 1
        quotes -= data.count(b'"', before, end)
        end = before
    return end


def _utf8(source: Source, encoding: str) -> Iterator[bytes]:
    """Yields a file in UTF-8 with LF line ends, without a byte order mark."""
    decode = io.IncrementalNewlineDecoder(
        codecs.getincrementaldecoder(encoding)(), translate=True
    ).decode
    line = 0
    try:
        with source.open_stream() as stream:
            data = stream.read(BLOCK_BYTES)
            if encoding == "utf-8":
                _require_text(data, source, BARE_ENCODINGS)
            text = decode(data).removeprefix("\ufeff")
            _require_text(text[:START_CHARS].encode(), source)
            while data:
                line += text.count("\n")
                yield text.encode()
                data = stream.read(BLOCK_BYTES)
                text = decode(data, final=not data)
            yield text.encode()
    except UnicodeError as error:
        others = "cp1252 or --encoding latin-1" if encoding == "utf-8" else "utf-8"
        raise RefusedFileError(
            f"{source.name} is not {encoding.upper()}{_place(error, line)}. Say how it is "
            f"written, for example --encoding {others}."
        ) from None
    except (OSError, pa.ArrowException) as error:
        raise RefusedFileError(
            f"{source.name} cannot be read: {first_line(error)}. It may be cut short; send "
            "it again."
        ) from None


def _place(error: UnicodeError, line: int) -> str:
    """Returns where decoding failed, with `line` lines before the last read; '' if unknown."""
    if not isinstance(error, UnicodeDecodeError):
        return ""
    before = error.object[: error.start].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    line += before.count(b"\n") + 1
    return f" in line {line} (byte 0x{error.object[error.start]:02x})"


def _require_text(start: bytes, source: Source, bare: Sequence[str] = ()) -> None:
    """Refuses binary data, and text in another encoding: a marked one, or one of `bare`."""
    before, nul, _ = start[:START_CHARS].partition(b"\0")
    if not nul:
        return
    marks = (name for mark, name in ENCODING_OF_MARK.items() if start.startswith(mark))
    names = {each: start[:32].decode(each, "ignore") for each in bare}
    unmarked = (each for each, text in names.items() if ASCII_NAMES.match(text))
    if encoding := next(marks, "") or next(unmarked, ""):
        raise RefusedFileError(
            f"{source.name} is written in {encoding.upper()}. Pass --encoding {encoding}."
        )
    what = f"binary data (the first zero byte is in line {before.count(10) + 1})"
    raise RefusedFileError(
        f"{source.name} is {'Parquet' if start.startswith(b'PAR1') else what}, not text as its "
        "name says. Rename it, or export it as CSV."
    )
