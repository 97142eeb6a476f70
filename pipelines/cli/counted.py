"""What a run counted, as one line for people."""

from collections.abc import Mapping
from typing import Any

MEASURED = ("_seconds", "_bytes", "_error")
PLUMBING = {"cache_hits", "cache_misses", "compilations", "steps"}


def counted(metrics: Mapping[str, Any], measures: bool) -> str:
    """Tells what is known; not every machine tells everything.

    Args:
      metrics: Of a run.
      measures: Tell what was measured, too: for who looks closely.
    """
    told = (
        _count(name, value)
        for name, value in sorted(metrics.items(), key=_is_sentence)
        if value is not None and (measures or not _is_measure(name))
    )
    return ", ".join(told)


def said(value: object) -> str:
    """A value in a line: verdicts as a word, what holds several as 'Ghent 2'."""
    match value:
        case {"passed": bool(passed)}:
            return "passed" if passed else "failed"
        case dict():
            return ", ".join(f"{key} {each}" for key, each in value.items())
        case list():
            return "; ".join(map(str, value))
    return str(value)


def _is_sentence(count: tuple[str, Any]) -> bool:
    """Sentences come last: nothing goes on after a full stop."""
    return count[0] == "reason"


def _is_measure(name: str) -> bool:
    return name.endswith(MEASURED) or name in PLUMBING


def _count(name: str, value: object) -> str:
    match value:
        case bool():
            return name if value else f"not {name}"
        case int() if name.endswith("_bytes"):
            return f"{name.removesuffix('_bytes')} {value / 2**20:,.0f} MiB"
        case str() if name == "reason":
            return value
    return f"{name} {said(value)}"
