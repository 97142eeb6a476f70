"""Decodes a text file and splits it into blocks of complete rows."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from forecaster.errors import RefusedFileError
from pipelines.ingest.sources import Source, first_line

BLOCK_BYTES = 8 << 20
MAX_UNFINISHED_ROW_BYTES = 4 * BLOCK_BYTES
BOM = codecs.BOM_UTF8


@dataclass(frozen=True)
class Block:
    """Complete rows of a text file, in UTF-8 with LF line ends.

    Args:
      data: The rows.
      first_line: Line in the file, counted from 1.
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
      RefusedFileError: the bytes are not text, or not in that encoding.
    """
    rest, line = b"", 1
    encoding = "utf-8" if source.is_workbook else encoding
    for data in _unix_lines(_decode(source, encoding)):
        rest += data
        cut = _end_of_rows(rest)
        is_doubtful = cut == 0 and len(rest) > MAX_UNFINISHED_ROW_BYTES
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
            f"{source.name} has a line of more than {MAX_UNFINISHED_ROW_BYTES >> 20} MiB, "
            "which no file of orders has. Look at what wrote it."
        )


def _end_of_rows(data: bytes) -> int:
    """Returns the end of the last line at which no quote is open."""
    end = data.rfind(b"\n") + 1
    quotes = data.count(b'"', 0, end)
    while end and quotes % 2:
        before = data.rfind(b"\n", 0, end - 1) + 1
        quotes -= data.count(b'"', before, end)
        end = before
    return end


def _decode(source: Source, encoding: str) -> Iterator[bytes]:
    """Yields the file in UTF-8 without a byte order mark; UTF-8 input is not validated yet."""
    decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)()
    for number, data in enumerate(_raw_blocks(source)):
        try:
            text = data if decoder is None else decoder.decode(data).encode()
        except UnicodeError as error:
            raise RefusedFileError(
                f"{source.name} is not {encoding}: {first_line(error)}. Say how it is "
                "written, as in --encoding utf-8."
            ) from None
        if number == 0:
            text = text.removeprefix(BOM)
            _require_text(text, source)
        yield text


def _raw_blocks(source: Source) -> Iterator[bytes]:
    try:
        with source.open_stream() as stream:
            while data := stream.read(BLOCK_BYTES):
                yield data
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
    r"""Converts \r\n and \r to \n."""
    held = b""
    for data in chunks:
        text = held + data
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
