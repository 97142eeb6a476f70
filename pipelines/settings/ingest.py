"""Settings of ingest: limits, rejection, and the file formats of each source."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings

from pipelines.settings.field_types import MAX_MIB, Share

DONE = "done"
"""Subfolder of the inbox for loaded files."""
MIN_PARSER_MIB = 512
"""Smallest memory limit; with 384 MiB the parser fails on files of 7 MB (2026-11-26)."""


class SourceSettings(BaseModel):
    """`[sources.NAME]` of harbor.toml: the format of the files of one source.

    Options that are not set are detected, as for files without a source.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    pattern: str | None = Field(
        default=None,
        min_length=1,
        description="Pattern of its file names, such as north-*.csv or north/*.csv.",
    )
    kind: str | None = None
    columns: Mapping[str, str] = Field(default_factory=dict)
    date_format: str | None = None
    encoding: str | None = None
    separator: Literal[",", ";", "\t", "|"] | None = None
    decimal: Literal[".", ","] | None = None
    id_namespace: str | None = Field(
        default=None,
        description="Namespace in which its order ids are unique; its own name by default, "
        "'' for that of files without a source.",
    )
    force: bool = Field(
        default=False,
        description="Accepts files even if they move many orders or repeat most ids.",
    )


class InvalidSource(SourceSettings):
    """A source whose table in harbor.toml breaks a rule; its files are refused, others are loaded.

    Without a readable pattern, its files are all those that no other pattern matches.
    """

    problem: str = Field(description="What is wrong, with the rule.")


class IngestSettings(BaseSettings):
    """A part of `Settings`, which reads the environment."""

    sources: Mapping[str, SourceSettings] = Field(
        default_factory=dict,
        description="File format of each source, by its name.",
    )
    settle_seconds: float = Field(
        default=10,
        ge=0,
        le=3600,
        description="A file in the inbox that changed within this time is waited for as long "
        "again, and skipped if it still changes.",
    )
    max_rejected_ratio: Share = Field(
        default=0.5,
        description="Share of bad rows above which a file is refused whole.",
    )
    parser_memory_mib: int = Field(
        default=2048,
        ge=0,
        le=MAX_MIB,
        description="Memory of the process that parses files, at least `MIN_PARSER_MIB`; 0: no "
        "separate process.",
    )
    max_file_mib: int = Field(
        default=512,
        ge=1,
        le=MAX_MIB,
        description="Size, once unpacked and decoded, above which a file is refused whole.",
    )

    @field_validator("parser_memory_mib")
    @classmethod
    def _enough_for_the_parser(cls, memory_mib: int) -> int:
        if 0 < memory_mib < MIN_PARSER_MIB:
            raise ValueError(
                f"must be {MIN_PARSER_MIB} or more, or 0 for no separate process"
            )
        return memory_mib

    @field_validator("sources", mode="before")
    @classmethod
    def _each_alone(cls, sources: Any) -> Any:
        if not isinstance(sources, Mapping):
            return sources
        return {name: _source(name, table) for name, table in sources.items()}


def _source(name: str, table: Any) -> SourceSettings:
    try:
        return SourceSettings.model_validate(table)
    except ValidationError as error:
        problem = "; ".join(_problem(name, table, each) for each in error.errors())
    pattern = table.get("pattern") if isinstance(table, Mapping) else None
    known = pattern if isinstance(pattern, str) and pattern else None
    return InvalidSource(pattern=known, problem=problem)


def _problem(name: str, table: Any, error: ErrorDetails) -> str:
    if not error["loc"]:
        return f"sources has {name} = {table!r}, but must have a table of keys"
    rule = error["msg"]
    if error["type"] == "extra_forbidden":
        rule = f"its keys are {', '.join(SourceSettings.model_fields)}"
    key = ".".join(map(str, error["loc"]))
    return f"[sources.{name}] has {key} = {error['input']!r}: {rule}"
