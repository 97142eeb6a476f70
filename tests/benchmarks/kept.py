"""Ratios that benchmarks once had, and whether what they have now is clearly worse.

A ratio is taken within one run on one machine, so that it means the same elsewhere. Each
is kept with the share by which it may be worse before that is more than noise.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

PATH = Path(__file__).with_name("kept.json")
State = Literal["as kept", "better", "worse", "missing"]


@dataclass(frozen=True)
class Kept:
    """One ratio as it was measured.

    Attributes:
      name: Benchmark and what it measured: `ingest.csv.of_copy`.
      value: The ratio; or a count or MiB, which no machine's speed moves either.
      better: Which way is better.
      worse_by: Share of the value by which it may be worse, 0 to 1.
      measured_on: Day, as `2026-11-21`.
      machine: What on.
      commit: Of the code.
    """

    name: str
    value: float
    better: Literal["higher", "lower"]
    worse_by: float
    measured_on: str
    machine: str
    commit: str

    @property
    def benchmark(self) -> str:
        """The benchmark that measures it."""
        return self.name.split(".")[0]

    @property
    def limit(self) -> float:
        """The worst value that is not clearly worse."""
        away = self.worse_by if self.better == "lower" else -self.worse_by
        return self.value * (1 + away)


@dataclass(frozen=True)
class Verdict:
    """Outcome of one kept ratio."""

    kept: Kept
    measured: float | None
    state: State


def read(path: Path = PATH) -> list[Kept]:
    """Reads the kept ratios."""
    return [Kept(**entry) for entry in json.loads(path.read_text())]


def write(kept: Iterable[Kept], path: Path = PATH) -> None:
    """Writes the kept ratios, one per line, in the order of their names."""
    ordered = sorted(kept, key=lambda each: each.name)
    lines = ",\n".join(json.dumps(asdict(each)) for each in ordered)
    path.write_text(f"[\n{lines}\n]\n")


def judge(kept: Iterable[Kept], measured: Mapping[str, float]) -> list[Verdict]:
    """Holds what was measured against what is kept.

    A ratio that was not measured, or is not a number, is missing: a benchmark that lost
    one must not pass for that.
    """
    return [_verdict(each, measured.get(each.name)) for each in kept]


def best_of(
    kept: Iterable[Kept], first: Mapping[str, float], second: Mapping[str, float]
) -> dict[str, float]:
    """The better of two runs, each ratio by itself: noise only ever makes worse."""
    best = {**first, **second}
    for each in kept:
        runs = [run[each.name] for run in (first, second) if _is_number(run, each.name)]
        if runs:
            best[each.name] = max(runs) if each.better == "higher" else min(runs)
    return best


def _verdict(kept: Kept, measured: float | None) -> Verdict:
    if measured is None or not math.isfinite(measured):
        return Verdict(kept, None, "missing")
    gain = measured - kept.value if kept.better == "higher" else kept.value - measured
    noise = kept.worse_by * kept.value + 1e-9
    state: State = (
        "as kept" if abs(gain) <= noise else "better" if gain > 0 else "worse"
    )
    return Verdict(kept, measured, state)


def _is_number(run: Mapping[str, float], name: str) -> bool:
    return name in run and math.isfinite(run[name])
