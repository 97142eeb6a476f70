"""Bytes of a text file, decoded and cut into blocks of whole rows."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from forecaster.errors import RefusedFileError
from pipelines.ingest.sources import Source, first_line

READ_AT_ONCE = 8 << 20
MOST_HELD = 4 * READ_AT_ONCE
BOM = codecs.BOM_UTF8


@dataclass(frozen=True)
class Block:
    """Rows of a text file, in UTF-8, each line ended by a newline alone.

    Args:
      data: The rows.
      first_line: Of the file, from 1.
      is_unfinished: Whether the file ends here without ending its last row.
      is_doubtful: Whether a quote in it may never close.
    """

    data: bytes
    first_line: int
    is_unfinished: bool = False
    is_doubtful: bool = False

    def after_line(self, line: int) -> "Block":
        """What follows a line of the file; all of it where it begins later."""
        start, at = 0, self.first_line
        while at <= line:
            end = self.data.find(b"\n", start)
            start = len(self.data) if end < 0 else end + 1
            at += 1
        return replace(self, data=self.data[start:], first_line=at)


def read_blocks(source: Source, encoding: str) -> Iterator[Block]:
    """A file in blocks of whole rows, a quoted line end not ending a row.

    Raises:
      RefusedFileError: the bytes are no text, or not in that encoding.
    """
    rest, line = b"", 1
    encoding = "utf-8" if source.is_workbook else encoding
    for some in _unix_lines(_decoded(source, encoding)):
        rest += some
        cut = _end_of_rows(rest)
        is_doubtful = cut == 0 and len(rest) > MOST_HELD
        if is_doubtful:
            cut = rest.rfind(b"\n") + 1
            _require_line_end(cut, source)
        if cut:
            yield _checked(Block(rest[:cut], line, is_doubtful=is_doubtful), source)
            line += rest.count(b"\n", 0, cut)
            rest = rest[cut:]
    if rest:
        block = Block(rest, line, is_unfinished=True, is_doubtful=True)
        yield _checked(block, source)


def _require_line_end(end: int, source: Source) -> None:
    if end == 0:
        raise RefusedFileError(
            f"{source.name} has a line of more than {MOST_HELD >> 20} MiB, which no file of "
            "orders has. Look at what wrote it."
        )


def _end_of_rows(data: bytes) -> int:
    """The end of the last line that no quote is open at."""
    end = data.rfind(b"\n") + 1
    quotes = data.count(b'"', 0, end)
    while end and quotes % 2:
        before = data.rfind(b"\n", 0, end - 1) + 1
        quotes -= data.count(b'"', before, end)
        end = before
    return end


def _decoded(source: Source, encoding: str) -> Iterator[bytes]:
    """The file's text as UTF-8 without a mark; only UTF-8 itself is yet unchecked."""
    decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)()
    for number, some in enumerate(_chunks(source)):
        try:
            text = some if decoder is None else decoder.decode(some).encode()
        except UnicodeError as error:
            raise RefusedFileError(
                f"{source.name} is not {encoding}: {first_line(error)}. Say how it is "
                "written, as in --encoding utf-8."
            ) from None
        if number == 0:
            text = text.removeprefix(BOM)
            _require_text(text, source)
        yield text


def _chunks(source: Source) -> Iterator[bytes]:
    try:
        with source.open_stream() as stream:
            while some := stream.read(READ_AT_ONCE):
                yield some
    except (OSError, pa.ArrowException) as error:
        raise RefusedFileError(
            f"{source.name} cannot be read: {first_line(error)}. It may be cut short; send "
            "it again."
        ) from None


def _require_text(start: bytes, source: Source) -> None:
    if b"\0" not in start[:4096]:
        return
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise RefusedFileError(
            f"{source.name} is written in UTF-16. Pass --encoding utf-16."
        )
    what = "Parquet" if start.startswith(b"PAR1") else "binary data"
    raise RefusedFileError(
        f"{source.name} is {what}, not text as its name says. Rename it, or export it "
        "as CSV."
    )


def _unix_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    r"""The same text with \r\n and \r as \n."""
    held = b""
    for some in chunks:
        text = held + some
        # Half of a \r\n may still be to come.
        held = b"\r" if text.endswith(b"\r") else b""
        text = text[: len(text) - len(held)]
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        yield text
    if held:
        yield b"\n"


def _checked(block: Block, source: Source) -> Block:
    try:
        block.data.isascii() or block.data.decode()
    except UnicodeDecodeError as error:
        line = block.first_line + block.data.count(b"\n", 0, error.start)
        raise RefusedFileError(
            f"{source.name} is not UTF-8 in line {line} (byte "
            f"0x{block.data[error.start]:02x}). Say how it is written, for example "
            "--encoding cp1252 or --encoding latin-1."
        ) from None
    return block
