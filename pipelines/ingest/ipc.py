"""What a parser in a child and its parent say to each other: JSON, and rows as bytes.

The child reads what strangers wrote, so nothing of what it says is unpickled.
"""

import json
import struct
from dataclasses import asdict
from datetime import date
from typing import IO, Any

from pyarrow import fs

from pipelines.ingest.batches import RejectedRow
from pipelines.ingest.chunks import Chunk
from pipelines.ingest.conventions import Conventions
from pipelines.ingest.dates import Order
from pipelines.ingest.file_schemas import KINDS
from pipelines.ingest.kind_detection import Plan
from pipelines.ingest.numbers import DecimalMark
from pipelines.ingest.report import FileOptions
from pipelines.ingest.sources import Source

HEAD = struct.Struct(">IQ")
Message = dict[str, Any]


def send(
    stream: IO[bytes], message: Message, payload: bytes | memoryview = b""
) -> None:
    """Writes one message.

    Raises:
      BrokenPipeError: nobody listens any more.
    """
    told = json.dumps(message).encode()
    stream.write(HEAD.pack(len(told), len(payload)))
    stream.write(told)
    stream.write(payload)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[Message, bytes]:
    """Reads one message, and waits for it.

    Raises:
      EOFError: the other side has ended.
    """
    head = _exactly(stream, HEAD.size)
    n_told, n_payload = HEAD.unpack(head)
    return json.loads(_exactly(stream, n_told)), _exactly(stream, n_payload)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def of_task(source: Source, options: FileOptions, today: date) -> Message:
    """A file to parse."""
    names = ("shown", "path", "address", "size", "modified_ns", "url")
    return {
        "source": {name: getattr(source, name) for name in names},
        "options": asdict(options),
        "today": today.isoformat(),
    }


def task(message: Message) -> tuple[Source, FileOptions, date]:
    """As `of_task` said it."""
    url = message["source"]["url"]
    system = fs.FileSystem.from_uri(url)[0] if url else fs.LocalFileSystem()
    source = Source(**message["source"], system=system)
    return (
        source,
        FileOptions(**message["options"]),
        date.fromisoformat(message["today"]),
    )


def of_plan(plan: Plan) -> Message:
    """What a header was understood as."""
    return {
        "kind": plan.kind.name,
        "positions": dict(plan.positions),
        "header": plan.header,
    }


def plan(message: Message) -> Plan:
    """As `of_plan` said it."""
    header = tuple(message["header"])
    return Plan(KINDS[message["kind"]], message["positions"], header)


def conventions(message: Message) -> Conventions:
    """As a child found them."""
    order, mark = message["dates"], message["numbers"]
    return Conventions(
        None if order is None else Order(**order),
        None if mark is None else DecimalMark(**mark),
    )


def of_chunk(chunk: Chunk) -> Message:
    """All of a parcel but its rows."""
    return {
        "n_rows": chunk.n_rows,
        "depot_ids": list(chunk.depot_ids),
        "rejected": [asdict(row) for row in chunk.rejected],
        "blank": chunk.blank,
        "size": chunk.size,
    }


def chunk(message: Message, rows: bytes) -> Chunk:
    """As `of_chunk` said it."""
    rejected = [RejectedRow(**row) for row in message["rejected"]]
    return Chunk(rows, **(message | {"rejected": rejected}))
