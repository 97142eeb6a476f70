"""Growth of a night and of the pages with the number of depots, by simulation.

    python -m tests.benchmarks.scale [--depots 1000 10000] [--days N] [--target 100000]

For each size a fleet is invented inside an embedded Postgres of its own: counts, four weeks
of forecasts, their scores. What a night reads, computes and writes is timed, and what the
pages ask. What that comes to at the target follows from the last two sizes, on a straight
line or by the power of the number of depots, whichever is more; `deploy/SCALING.md` says
what that means.
"""

import argparse
import gc
import math
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from forecaster.data.panel import Panel
from forecaster.errors import DatabaseError
from forecaster.inference import artefact, infer
from pipelines.database import embedded
from pipelines.demand.panels import read_panel
from pipelines.forecasting import forecast
from pipelines.store import models
from tests.benchmarks import ratios
from tests.benchmarks.dashboard import fill
from tests.benchmarks.invented import invented_artefact
from tests.benchmarks.machine import stamp

if TYPE_CHECKING:
    from dashboard.queries.freshness import Freshness

WARMING = 8
TABLES = ("demand_versions", "forecasts", "scores", "score_totals")
BYTES_A_ROW = "select pg_total_relation_size(cast(:name as regclass)) / count(*) from "


@dataclass(frozen=True)
class Grown:
    """One cost at several sizes."""

    depots: tuple[int, ...]
    seconds: tuple[float, ...]

    @property
    def slope(self) -> float:
        """The power of the number of depots by which it grew last: 1 is in step."""
        (few, many), (before, after) = self.depots[-2:], self.seconds[-2:]
        return math.log(after / before) / math.log(many / few)

    def at(self, depots: int) -> float:
        """Seconds at another size: on a straight line or by the power, the larger."""
        (few, many), (before, after) = self.depots[-2:], self.seconds[-2:]
        line = after + (depots - many) * (after - before) / (many - few)
        return max(line, after * (depots / many) ** self.slope, after)


def main() -> None:
    """Measures every size, and prints what it comes to at the target."""
    args = _arguments()
    seconds_by_name: dict[str, list[float]] = {}
    print(stamp(), flush=True)
    _once(WARMING, args.days)  # what is imported and looked up once is no size's cost
    for n_depots in args.depots:
        seconds, bytes_a_row = _once(n_depots, args.days)
        print(
            f"{n_depots:,} depots: bytes a row, indices too: {bytes_a_row}", flush=True
        )
        for name, taken in seconds.items():
            seconds_by_name.setdefault(name, []).append(taken)
        gc.collect()
    grown = {
        name: Grown(tuple(args.depots), tuple(taken))
        for name, taken in seconds_by_name.items()
    }
    print(table_of(grown, args.target))
    ratios.write(
        args.json,
        "scale",
        {f"{name}.slope": each.slope for name, each in grown.items()},
    )


def _once(n_depots: int, n_days: int) -> tuple[dict[str, float], dict[str, int]]:
    with tempfile.TemporaryDirectory(prefix="harbor-bench-") as folder:
        home = Path(folder)
        home.chmod(0o755)  # as root, the server's account must be able to enter
        with embedded.running(home) as url:
            return measure(url, home, n_depots, n_days)


def table_of(grown: Mapping[str, Grown], target: int) -> str:
    """A row for each cost: seconds at each size, the power, and the target.

    nan stands where a page gave up.
    """
    sizes = next(iter(grown.values())).depots
    head = ["what", *(f"{size:,}" for size in sizes), "power", f"{target:,}"]
    rows = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for name, each in grown.items():
        cells = [name, *(f"{taken:.2f}" for taken in each.seconds)]
        cells += [f"{each.slope:.2f}", f"{each.at(target):.1f}"]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def measure(
    url: str, home: Path, n_depots: int, n_days: int
) -> tuple[dict[str, float], dict[str, int]]:
    """Seconds of each part on one invented fleet, and bytes a row of the large tables."""
    fill(url, n_depots, n_days)
    engine = sa.create_engine(url)
    last: date = datetime.now(UTC).date() - timedelta(days=1)
    seconds = _night(engine, home, last) | _pages(url)
    with engine.connect() as connection:
        bytes_a_row = {
            name: int(
                connection.scalar(sa.text(BYTES_A_ROW + name), {"name": name}) or 0
            )
            for name in TABLES
        }
    engine.dispose()
    return seconds, bytes_a_row


def _night(engine: sa.Engine, home: Path, last: date) -> dict[str, float]:
    """Reads, computes and writes as `harbor forecast` does."""
    panels: list[Panel] = []
    read = _timed(lambda: panels.append(read_panel(engine, last)))
    panel = panels[0]
    model = invented_artefact(panel)
    _record(engine, home, model, last)
    forecasts: list[infer.Forecast] = []
    computed = _timed(lambda: forecasts.append(infer.forecast(model, panel)))
    now, zone = datetime.now(UTC), ZoneInfo("UTC")

    def write() -> None:
        forecast.write(engine, panel, forecasts[0], model.version, now, zone, None)

    first = _timed(write)
    return {
        "panel read": read,
        "forecast by NumPy, 128 days read": computed,
        "forecasts written": first,
        "forecasts written again": _timed(write),
    }


def _record(
    engine: sa.Engine, home: Path, model: artefact.Artefact, last: date
) -> None:
    path = artefact.save(model, home / "artefacts")
    with engine.begin() as connection:
        models.add_model(
            connection, version=model.version, trained_through=last, seed=0,
            data_watermark="", filename=path.name, role="challenger", scores={},
            sha256=artefact.file_sha256(path),
        )  # fmt: skip


def _pages(url: str) -> dict[str, float]:
    """Queries of the pages, without the pages: each once before it is timed."""
    os.environ["HARBOR_DATABASE_URL"] = url
    from streamlit.logger import set_log_level

    # There is no browser here, and Streamlit would log that at every query.
    set_log_level("ERROR")
    from dashboard import queries
    from dashboard.queries import database

    seconds = {}
    for name, page_queries in _queries_by_page(queries.freshness()).items():
        _seconds_of(page_queries)
        for cached, *_ in page_queries:
            cached.clear()
        seconds[name] = _seconds_of(page_queries)
    queries.freshness.clear()
    database.engine.clear()
    database.settings.clear()
    return seconds


def _queries_by_page(fresh: "Freshness") -> dict[str, list[tuple[Any, ...]]]:
    """Queries of each page, each with its arguments."""
    from dashboard import queries

    depot = "D00007"
    return {
        "page Days ahead": [
            (queries.fleet_week, fresh),
            (queries.daily_totals, "", fresh),
        ],
        "page Depot": [
            (queries.depot_days, depot, fresh),
            (queries.past_forecasts, depot, fresh),
        ],
        "page Accuracy": [
            (queries.accuracy, queries.ScoreFilter(True), fresh),
            (queries.largest_errors, queries.ScoreFilter(True), fresh),
        ],
    }


def _seconds_of(page_queries: list[tuple[Any, ...]]) -> float:
    """Seconds of all queries of a page; NaN past the dashboard's own time limit."""
    try:
        return _timed(lambda: [query(*arguments) for query, *arguments in page_queries])
    except DatabaseError:
        return math.nan


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depots", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--days", type=int, default=128)
    parser.add_argument("--target", type=int, default=100_000)
    ratios.add_option(parser)
    args = parser.parse_args()
    if len(args.depots) < 2 or args.depots != sorted(set(args.depots)):
        parser.error("--depots wants two numbers or more, least first.")
    return args


if __name__ == "__main__":
    main()
