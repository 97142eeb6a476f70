"""Settings of ingest: limits, rejection, and the file formats of each source."""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic_settings import BaseSettings

from pipelines.settings.field_types import Share


class SourceSettings(BaseModel):
    """`[sources.NAME]` of harbor.toml: how the files of one source are written.

    What is not given is recognised, as it is for files of no source.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    pattern: str | None = Field(
        default=None,
        min_length=1,
        description="Of the names of its files, such as north-*.csv or north/*.csv.",
    )
    kind: str | None = None
    columns: Mapping[str, str] = Field(default_factory=dict)
    date_format: str | None = None
    encoding: str | None = None
    separator: Literal[",", ";", "\t", "|"] | None = None
    decimal: Literal[".", ","] | None = None
    id_namespace: str | None = Field(
        default=None,
        description="In which its order ids are unique; its own name where not given, '' "
        "for that of files of no source.",
    )
    force: bool = Field(
        default=False,
        description="Takes files also that move many orders or repeat most of their ids.",
    )


class IngestSettings(BaseSettings):
    """A part of `Settings`, which reads the environment."""

    sources: Mapping[str, SourceSettings] = Field(
        default_factory=dict,
        description="How the files of each source are written, by the source's name.",
    )
    settle_seconds: float = Field(
        default=10,
        ge=0,
        description="A file in the inbox that changed within this time is waited for, and left "
        "if it still changes.",
    )
    max_rejected_ratio: Share = Field(
        default=0.5,
        description="Share of bad rows above which a file is refused whole.",
    )
    parser_memory_mib: int = Field(
        default=2048,
        ge=0,
        description="Memory of the process that parses files; 0: no process of its own.",
    )
    max_file_mib: int = Field(
        default=512,
        ge=1,
        description="Size, once unpacked and decoded, above which a file is refused whole.",
    )
