"""Messages between the parser process and its parent: JSON, and rows as bytes.

The child reads untrusted files, so nothing that it sends is unpickled.
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
from pipelines.ingest.dates import DateOrder
from pipelines.ingest.file_schemas import KINDS
from pipelines.ingest.kind_detection import Plan
from pipelines.ingest.numbers import DecimalMark
from pipelines.ingest.report import FileOptions
from pipelines.ingest.sources import Source

FRAME_HEADER = struct.Struct(">IQ")
Message = dict[str, Any]


def send(
    stream: IO[bytes], message: Message, payload: bytes | memoryview = b""
) -> None:
    """Writes one message.

    Raises:
      BrokenPipeError: the other side has closed the stream.
    """
    encoded = json.dumps(message).encode()
    stream.write(FRAME_HEADER.pack(len(encoded), len(payload)))
    stream.write(encoded)
    stream.write(payload)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[Message, bytes]:
    """Waits for one message and returns it with its payload.

    Raises:
      EOFError: the other side has ended.
    """
    head = _read_exactly(stream, FRAME_HEADER.size)
    n_message, n_payload = FRAME_HEADER.unpack(head)
    return json.loads(_read_exactly(stream, n_message)), _read_exactly(
        stream, n_payload
    )


def _read_exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def task_message(source: Source, options: FileOptions, today: date) -> Message:
    """Returns the message that describes a file to parse."""
    names = ("display_path", "path", "address", "size", "modified_ns", "url")
    return {
        "source": {name: getattr(source, name) for name in names},
        "options": asdict(options),
        "today": today.isoformat(),
    }


def task(message: Message) -> tuple[Source, FileOptions, date]:
    """Decodes `task_message`."""
    url = message["source"]["url"]
    system = fs.FileSystem.from_uri(url)[0] if url else fs.LocalFileSystem()
    source = Source(**message["source"], system=system)
    return (
        source,
        FileOptions(**message["options"]),
        date.fromisoformat(message["today"]),
    )


def plan_message(plan: Plan) -> Message:
    """Returns the message that describes the plan of a file."""
    return {
        "kind": plan.kind.name,
        "positions": dict(plan.positions),
        "header": plan.header,
    }


def plan(message: Message) -> Plan:
    """Decodes `plan_message`."""
    header = tuple(message["header"])
    return Plan(KINDS[message["kind"]], message["positions"], header)


def conventions(message: Message) -> Conventions:
    """Decodes the conventions that a child has detected."""
    order, mark = message["dates"], message["numbers"]
    return Conventions(
        None if order is None else DateOrder(**order),
        None if mark is None else DecimalMark(**mark),
    )


def chunk_message(chunk: Chunk) -> Message:
    """Returns the message that describes a chunk; its rows are the payload."""
    return {
        "n_rows": chunk.n_rows,
        "depot_ids": list(chunk.depot_ids),
        "rejected": [asdict(row) for row in chunk.rejected],
        "blank": chunk.blank,
        "size": chunk.size,
    }


def chunk(message: Message, rows: bytes) -> Chunk:
    """Decodes `chunk_message` and its payload."""
    rejected = [RejectedRow(**row) for row in message["rejected"]]
    return Chunk(rows, **(message | {"rejected": rejected}))
