"""Cost of a night, step by step, through the database; its training apart.

    python -m tests.benchmarks.night [--depots 1000 10000] [--days N] [--target 100000]

For each size a fleet is invented inside an embedded Postgres of its own: three years of
daily counts, four weeks of forecasts and their scores. Then a night runs as it does every
night: a file in the inbox brings the counts of one more day, and every step is the real
one, but for the fit. In its place a network of the usual size is recorded as challenger,
which beats the champion, so that its canary runs.

Seconds are of the wall clock and, because other programs may use the same cores, of the
processor, Postgres included. Memory is the most that the night's process held in a step.
What a step comes to at the target follows from the processor seconds of the last two sizes:
on a straight line or by the power of the number of depots, whichever is more. What a row of each
large table takes on the disk, keys and indices too, comes last.
"""

import argparse
import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from pydantic import SecretStr

from forecaster.inference.artefact import Artefact
from pipelines.demand.panels import read_panel
from pipelines.nightly import steps
from pipelines.nightly.run import run_nightly
from pipelines.nightly.steps import NightlyContext
from pipelines.publishing.destination import Destination
from pipelines.publishing.files import publish_files
from pipelines.runs.ledger import Run
from pipelines.settings import Settings, use_one_blas_thread
from pipelines.store import models
from pipelines.training import train as training
from tests.benchmarks.dashboard import invented_fleet
from tests.benchmarks.invented import invented_artefact
from tests.benchmarks.machine import stamp
from tests.pipelines.make import save_model

MIB = 2**20
TICKS = os.sysconf("SC_CLK_TCK")
WHOLE = "the night"
SOURCES = (
    """insert into daily_counts (depot_id, service_on, orders, file_id)
       select depot_id, service_on, orders, 1 from demand_versions""",
    "delete from changed_days",
    "delete from scores_due",
)
"""Source of the counts; nothing before the night is left to be counted or scored."""
LARGE_TABLES = ("demand_versions", "forecasts", "scores", "score_totals")
ROW_BYTES = "select pg_total_relation_size('{0}') / count(*) from {0}"


@dataclass(frozen=True)
class Cost:
    """Cost of a step: seconds, seconds of all processors, and the peak of memory."""

    wall_s: float
    cpu_s: float
    peak_bytes: int


def main() -> None:
    """Measures a night of every size, and prints a row for each of its steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depots", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--days", type=int, default=3 * 365)
    parser.add_argument("--target", type=int, default=100_000)
    args = parser.parse_args()
    print(stamp(), flush=True)
    use_one_blas_thread()  # in the processes to come, as commands do
    nights = {}
    for n_depots in args.depots:
        # In a process of its own, so that its memory is that of one night alone.
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            nights[n_depots] = process.submit(measure, n_depots, args.days).result()
    print(table_of(nights, args.target))


def growth(
    depots: tuple[int, int], seconds: tuple[float, float], target: int
) -> tuple[float, float]:
    """The power of the number of depots by which a cost grew, and seconds at the target.

    A power of 1 is in step with the fleet. The estimate is the larger of a straight line and
    the power, and never below what was measured last.
    """
    (few, many), (before, after) = depots, seconds
    power = math.log(after / before) / math.log(many / few)
    line = after + (target - many) * (after - before) / (many - few)
    return power, max(line, after * (target / many) ** power, after)


def table_of(nights: dict[int, dict[str, Cost]], target: int) -> str:
    """A row for each step: seconds, processor seconds and MiB, and the target's estimate."""
    sizes = sorted(nights)[-2:]
    head = ["step", *(f"{n:,} depots: s · processor s · MiB" for n in nights)]
    if len(sizes) > 1:
        head.append(f"power · processor s at {target:,}")
    rows = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for name in next(iter(nights.values())):
        costs = [night[name] for night in nights.values()]
        cells = [
            f"{cost.wall_s:.1f} · {cost.cpu_s:.1f} · {cost.peak_bytes / MIB:,.0f}"
            for cost in costs
        ]
        seconds = [nights[size][name].cpu_s for size in sizes]
        if len(sizes) > 1:
            known = min(seconds) > 0  # the kernel counts in hundredths
            estimate = growth((*sizes,), (*seconds,), target) if known else None
            cells.append("{:.2f} · {:.0f}".format(*estimate) if estimate else "–")
        rows.append(f"| {' | '.join([name, *cells])} |")
    return "\n".join(rows)


def measure(n_depots: int, n_days: int) -> dict[str, Cost]:
    """The cost of each step of one night, and of all of it."""
    now = datetime.now(UTC)
    # The night's own day is over, or its counts would be partial.
    last: date = now.date() - timedelta(days=2)
    with invented_fleet(n_depots, n_days, last) as (url, home):
        engine = sa.create_engine(url)
        _prepare(engine, home, last)
        costs = _night(engine, home, last + timedelta(days=1), now)
        print(f"bytes a row: {_row_bytes(engine)}", flush=True)
        engine.dispose()
    return costs


def _row_bytes(engine: sa.Engine) -> dict[str, int]:
    with engine.connect() as connection:
        return {
            table: connection.scalar(sa.text(ROW_BYTES.format(table))) or 0
            for table in LARGE_TABLES
        }


def _prepare(engine: sa.Engine, home: Path, last: date) -> None:
    """Records the champion, publishes, and puts the counts of one more day into the inbox."""
    with engine.begin() as connection:
        for statement in SOURCES:
            connection.execute(sa.text(statement))
        depots = connection.scalars(sa.text("select depot_id from depots")).all()
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as link:
        link.execute(sa.text("vacuum analyze"))
    model = invented_artefact(read_panel(engine, last))
    _record(engine, home, model, mape=10.0)
    with engine.begin() as connection:
        models.promote(connection, model.version, "the first")
    # What the nights before have published is not published again.
    publish_files(engine, Destination.at(str(home / "published")))
    inbox = home / "inbox"
    inbox.mkdir()
    rows = (f"{depot},{last + timedelta(days=1)},{80}" for depot in depots)
    (inbox / "daily.csv").write_text("\n".join(["depot_id,date,orders", *rows]) + "\n")


def _record(engine: sa.Engine, home: Path, model: Artefact, mape: float) -> None:
    scores = {"models": {"gru": {"mape": mape}, "seasonal_naive": {"mape": 20.0}}}
    save_model(engine, model, home / "artefacts", role="challenger", scores=scores)


def _night(
    engine: sa.Engine, home: Path, origin: date, now: datetime
) -> dict[str, Cost]:
    costs: dict[str, Cost] = {}
    for name, step in steps.STEPS.items():
        work = _measured(home, name, step.work, costs)
        steps.STEPS[name] = replace(step, work=work)
    training.train = _learn_nothing(home)  # type: ignore[assignment]
    settings = Settings(
        publish_url=SecretStr(str(home / "published")), home=home, settle_seconds=0
    )
    context = NightlyContext(engine, settings, now, origin)
    _measured(home, WHOLE, lambda *_: run_nightly(context), costs)(context, None)
    # The kernel's peak was set to zero before every step.
    peak = max(cost.peak_bytes for cost in costs.values())
    costs[WHOLE] = replace(costs[WHOLE], peak_bytes=peak)
    return costs


def _learn_nothing(home: Path) -> Callable[..., None]:
    """Reads what a training reads, and records a challenger."""

    def train(run: Run, _settings: Settings, through: date, *others: Any) -> None:
        read_panels = others[-1]
        panel = training.training_panel(run.engine, read_panels(), through)
        model = invented_artefact(panel)
        _record(run.engine, home, model, mape=9.0)
        run.metrics["model"] = model.version

    return train


Step = Callable[[NightlyContext, Any], object]


def _measured(home: Path, name: str, step: Step, costs: dict[str, Cost]) -> Any:
    def measured(context: NightlyContext, run: Run | None) -> None:
        Path("/proc/self/clear_refs").write_text("5")  # the peak of memory starts again
        started, before = time.perf_counter(), _processor_seconds(home)
        step(context, run)
        costs[name] = Cost(
            time.perf_counter() - started,
            _processor_seconds(home) - before,
            _peak_bytes(),
        )
        print(f"{name}: {costs[name]}", flush=True)

    return measured


def _peak_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def _processor_seconds(home: Path) -> float:
    """Of this process, and of the database's server with all its children."""
    (pidfile,) = home.rglob("postmaster.pid")
    server = int(pidfile.read_text().splitlines()[0])
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    own = os.times()
    ticks = _ticks(server, with_ended=True)
    ticks += sum(_ticks(int(child), with_ended=False) for child in children)
    return (
        own.user + own.system + own.children_user + own.children_system + ticks / TICKS
    )


def _ticks(process: int, *, with_ended: bool) -> int:
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0
    fields = stat.rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if with_ended else 13]))


if __name__ == "__main__":
    main()
