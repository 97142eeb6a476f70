"""What is logged, in words: for who watches a night, or reads afterwards what it said."""

from collections.abc import Mapping
from typing import Any

from pipelines.cli.counted import counted, said

ENDS = {"done": "done in", "failed": "failed after", "skipped": "nothing to do, after"}
# Told last and without their names: each is a sentence, or the end of one.
SENTENCES = ("says", "alarm", "reason", "error")


def line(
    at: str, level: str, run: tuple[int, str] | None, event: str, fields: Mapping[str, Any]
) -> str:  # fmt: skip
    """One line.

    Args:
      at: When, as it is shown.
      level: Such as `info`, which goes without saying.
      run: Its id and its step; None where it is of none.
      event: Its name.
      fields: What it says besides.
    """
    of = "" if run is None else f"run {run[0]}  {run[1]:<8}  "
    warned = "" if level == "info" else f"{level}: "
    return f"{at}  {of}{warned}{in_words(event, fields)}"


def in_words(event: str, fields: Mapping[str, Any]) -> str:
    """An event and what it says; what is not known is left out."""
    known = {name: value for name, value in fields.items() if value is not None}
    match event:
        case "started":
            origin = known.get("origin")
            return f"begins, for {origin}" if origin else "begins"
        case "done" | "failed" | "skipped":
            return _ended(event, known)
        case "fit":
            return _fit(known)
        case "traceback":
            return "".join(known["lines"]).rstrip()
        case "file":
            path, state = known.pop("path", "a file"), known.pop("state", "")
            return _told(f"{path}: {state}", known)
    return _told(event.replace("_", " "), known)


def _ended(event: str, known: dict[str, Any]) -> str:
    took = known.pop("took_seconds", None)
    ended = event if took is None else f"{ENDS[event]} {took:.1f} s"
    what = known.get("error") or counted(known, measures=False)
    return f"{ended}: {what}" if what else ended


def _fit(known: Mapping[str, Any]) -> str:
    best = known.get("best_mape")
    far = f"{known.get('fit')} fit, epoch {known.get('epoch')} of {known.get('most')}"
    return far if best is None else f"{far}, best MAPE {100 * best:.2f} %"


def _told(what: str, known: Mapping[str, Any]) -> str:
    names = [name for name in known if name not in SENTENCES]
    plain = [_named(name, known[name]) for name in names]
    sentences = [said(known[name]) for name in SENTENCES if name in known]
    return ": ".join([", ".join([what, *plain]), *sentences])


def _named(name: str, value: object) -> str:
    unit = " s" if name.endswith("_s") else ""
    return f"{name.removesuffix('_s').replace('_', ' ')} {said(value)}{unit}"
