"""Whether anything has become clearly slower, or worse, than the repository remembers.

    make bench-check [DATA="FOLDER ..."]

Part of a release. Runs the benchmarks, holds their ratios against `kept.json`, and runs a
benchmark once more before it calls one of its ratios worse. With folders of data, accuracy
is held against its naive forecasts too; other peers only where their libraries are installed.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tests.benchmarks import kept, ratios
from tests.benchmarks.kept import Kept, Verdict
from tests.benchmarks.machine import commit, cores, machine, stamp

# Each with what makes it short enough for a release; a night's training is left out.
BENCHMARKS: dict[str, tuple[str, ...]] = {
    "speed": (
        "reference",
        "training",
        "serving",
        "compilations",
        "own_events",
        "long_horizon",
    ),
    "ingest": (),
    "hindcast": (),
    "dashboard": (),
    "night": (),
}
WITH_DATA: dict[str, tuple[str, ...]] = {
    "accuracy": ("--models", "seasonal_naive,median4"),
}
# The same data and seed give the same scores: once is enough.
WITHOUT_CHANCE = ("accuracy",)
BUSY = 0.5
Run = Callable[[list[str]], Mapping[str, float]]


def main() -> None:
    """Runs the benchmarks named; ends with 1 where a ratio is worse or missing."""
    args = _arguments()
    if args.keep_from:
        keep(ratios.read(args.keep_from))
        return
    print(stamp())
    if (load := os.getloadavg()[0]) > BUSY * cores():
        print(
            f"This machine is busy (load {load:.1f}, {cores()} cores): ratios may lie."
        )
    commands = commands_of(args.benchmarks, args.data)
    verdicts = check(commands, kept.read(), run, args.tries)
    print(table_of(verdicts))
    bad = [each.kept.name for each in verdicts if each.state in ("worse", "missing")]
    if bad:
        sys.exit(f"{len(bad)} of {len(verdicts)} worse or missing: {', '.join(bad)}")


def commands_of(
    benchmarks: Sequence[str], folders: Sequence[Path]
) -> dict[str, list[str]]:
    """Commands that measure the kept ratios, by the beginning of their names.

    A folder of data is a part of its own: `accuracy.chicago_l`.
    """
    commands = {}
    for name in benchmarks:
        start = [sys.executable, "-m", f"tests.benchmarks.{name}"]
        if name in BENCHMARKS:
            commands[name] = [*start, *BENCHMARKS[name]]
        else:
            for folder in folders:
                arguments = [str(folder), *WITH_DATA[name]]
                commands[f"{name}.{folder.name}"] = [*start, *arguments]
    return commands


def check(
    commands: Mapping[str, list[str]],
    remembered: Sequence[Kept],
    run_one: Run,
    tries: int,
) -> list[Verdict]:
    """Runs each part, again while a ratio of its is worse, and judges the best.

    Args:
      commands: What to run, by the beginning of the names of the ratios it gives.
      remembered: Ratios of these parts and others.
      run_one: Runs a command and returns its ratios by name.
      tries: Runs of one part at most, 1 or more.

    Returns:
      A verdict for every kept ratio of a part that was run.
    """
    verdicts = []
    for part, command in commands.items():
        kept_ratios = [each for each in remembered if each.name.startswith(f"{part}.")]
        measured: Mapping[str, float] = {}
        for _ in range(1 if part.startswith(WITHOUT_CHANCE) else tries):
            measured = kept.best_of(kept_ratios, measured, run_one(command))
            judged = kept.judge(kept_ratios, measured)
            if all(each.state not in ("worse", "missing") for each in judged):
                break
        verdicts += judged
    return verdicts


def run(command: list[str]) -> dict[str, float]:
    """Runs one benchmark as people run it, and reads its ratios.

    Raises:
      SystemExit: it failed.
    """
    command_line = f"python {' '.join(command[1:])}"
    print(f"\n$ {command_line}", flush=True)
    with tempfile.TemporaryDirectory(prefix="harbor-bench-") as folder:
        path = Path(folder) / "ratios.json"
        done = subprocess.run([*command, "--json", str(path)], check=False)
        if done.returncode:
            sys.exit(
                f"'{command_line}' ended with {done.returncode}, and gave no ratios."
            )
        return ratios.read(path)


def table_of(verdicts: Sequence[Verdict]) -> str:
    """A line for each ratio: as kept, as measured, and what that means."""
    lines = ["", "| ratio | kept | now | at worst | |", "|---|---|---|---|---|"]
    for each in verdicts:
        now = "–" if each.measured is None else f"{each.measured:.4g}"
        cells = (
            each.kept.name,
            f"{each.kept.value:.4g}",
            now,
            f"{each.kept.limit:.4g}",
        )
        lines.append(f"| {' | '.join(cells)} | {each.state} |")
    return "\n".join(lines)


def keep(measured: Mapping[str, float], path: Path = kept.PATH) -> None:
    """Puts what was just measured, at this commit, in the place of what is kept."""
    today, made_on, made_at = f"{datetime.now(UTC):%Y-%m-%d}", machine(), commit()
    renewed = []
    for each in kept.read(path):
        value = measured.get(each.name)
        renewed.append(
            each
            if value is None
            else replace(
                each, value=value, measured_on=today, machine=made_on, commit=made_at
            )
        )
    kept.write(renewed, path)


def _arguments() -> argparse.Namespace:
    every = (*BENCHMARKS, *WITH_DATA)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmarks", nargs="*", help=f"of {', '.join(every)}")
    parser.add_argument("--data", nargs="*", default=[], type=Path, metavar="FOLDER")
    parser.add_argument("--tries", type=int, default=2, help="runs of one (default: 2)")
    parser.add_argument(
        "--keep-from", type=Path, metavar="PATH",
        help="measure nothing: keep the ratios that a benchmark wrote with --json",
    )  # fmt: skip
    args = parser.parse_args()
    if unknown := sorted(set(args.benchmarks) - set(every)):
        parser.error(f"unknown: {', '.join(unknown)}. There are {', '.join(every)}.")
    if args.tries < 1:
        parser.error(f"--tries is {args.tries}, but must be 1 or more.")
    if not args.benchmarks:
        args.benchmarks = [*BENCHMARKS, *(("accuracy",) if args.data else ())]
    if set(args.benchmarks) & set(WITH_DATA) and not args.data:
        parser.error("accuracy wants --data FOLDER ...")
    return args


if __name__ == "__main__":
    main()
