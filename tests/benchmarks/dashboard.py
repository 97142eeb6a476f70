"""Time until the dashboard shows something useful, in a real browser.

    python -m tests.benchmarks.dashboard [--depots N] [--days N] [--visits N]

A fleet is invented inside the database, the dashboard is served as users run it, and each
page is opened in Chromium: once cold, then warm, which is what the second planner of the
morning meets, in a browser that was never here and in one that was. Useful is the first
table of numbers, not the frame around it; how many times the frame's time it takes is the
ratio that means the same on another machine.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import sqlalchemy as sa
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from pipelines.database import embedded, migrate
from pipelines.store import score_totals
from tests.benchmarks.machine import stamp
from tests.dashboard.browser import browser

PAGES = {
    "Days ahead": "/",
    "Depot": "/depot?depot=D00007",
    "Plan": "/plan",
    "Accuracy": "/accuracy",
    "Models": "/models",
}
FRAME = "[data-testid=stApp]"
USEFUL = "table.hf"
SCORED_ORIGINS = 28

FILL = (
    """insert into depots (depot_id, name, city, timezone, country, vans, is_complete)
       select 'D' || to_char(n, 'FM00000'), 'Depot ' || n, 'City ' || n % 12, 'UTC', 'NL',
              3 + n % 5, true
       from generate_series(1, :depots) n""",
    """insert into demand_versions (depot_id, service_on, version, orders, known_at)
       select d.depot_id, cast(:last as date) - ago, 1,
              cast(80 * d.vans * (0.8 + 0.4 * random()) as bigint),
              cast(:last as date) - ago + interval '27 hours'
       from depots d cross join generate_series(0, cast(:days as integer) - 1) ago""",
    """insert into models (version, trained_through, data_watermark, filename, sha256,
                           seed, role)
       values ('invented', :last, 'invented', 'invented.npz', 'none', 0, 'champion')""",
    """insert into forecasts (depot_id, origin_on, target_on, model_version, p10, p50, p90,
                              point, basis, is_live, made_at, city)
       select d.depot_id, o.origin_on, o.origin_on + step, 'invented', 65 * d.vans,
              80 * d.vans, 95 * d.vans, 80 * d.vans, 'model', true, o.origin_on + interval '28 hours',
              d.city
       from depots d
       cross join (select cast(:last as date) - ago as origin_on
                   from generate_series(0, cast(:origins as integer)) ago) o
       cross join generate_series(1, 7) step""",
    """insert into publications (origin_on, model_version, is_live, published_at)
       select origin_on, model_version, true, min(made_at) from forecasts
       group by origin_on, model_version order by origin_on""",
    """insert into scores (depot_id, origin_on, target_on, model_version, actual, p10, p50,
                           p90, point, seasonal_naive, median4, is_live)
       select f.depot_id, f.origin_on, f.target_on, f.model_version, v.orders, f.p10,
              f.p50, f.p90, f.point, v.orders + 7, v.orders - 5, true
       from forecasts f
       join demand_versions v on v.depot_id = f.depot_id and v.service_on = f.target_on""",
)


def main() -> None:
    """Measures every page, and prints a row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depots", type=int, default=1_000)
    parser.add_argument("--days", type=int, default=3 * 365)
    parser.add_argument("--visits", type=int, default=5)
    args = parser.parse_args()
    yesterday: date = datetime.now(UTC).date() - timedelta(days=1)
    with (
        invented_fleet(args.depots, args.days, yesterday) as (url, home),
        browser.serving(url, home) as address,
        sync_playwright() as playwright,
    ):
        chromium = browser.launch(playwright)
        print(stamp())
        print(f"{args.depots:,} depots × {args.days:,} days, seconds")
        print("| page | cold | warm | … in frames | warm, browser too |")
        print("|---|---|---|---|---|")
        for name, path in PAGES.items():
            print(_row(chromium, name, address + path, args.visits))
        chromium.close()


@contextmanager
def invented_fleet(
    n_depots: int, n_days: int, last: date
) -> Iterator[tuple[str, Path]]:
    """Invents a fleet inside an embedded Postgres of its own; yields its URL and home."""
    with tempfile.TemporaryDirectory(prefix="harbor-bench-") as folder:
        home = Path(folder)
        home.chmod(0o755)  # as root, the server's account must be able to enter
        with embedded.running(home) as url:
            _fill(url, n_depots, n_days, last)
            yield url, home


def _fill(url: str, n_depots: int, n_days: int, last: date) -> None:
    engine = sa.create_engine(url)
    migrate.upgrade(engine)
    sizes = {"depots": n_depots, "days": n_days, "last": last}
    with engine.begin() as connection:
        for statement in FILL:
            text = sa.text(statement)
            names = {"origins": SCORED_ORIGINS, **sizes}
            parameters = {name: names[name] for name in text.compile().params}
            connection.execute(text, parameters)
        score_totals.renew_all(connection)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as link:
        link.execute(sa.text("analyze"))
    engine.dispose()


def _row(chromium: Browser, name: str, address: str, visits: int) -> str:
    """A row of the table; the warm page also as a multiple of its frame."""
    _, cold = _seconds(chromium, address)
    visited = [_seconds(chromium, address) for _ in range(visits)]
    warm = statistics.median(useful for _, useful in visited)
    ratio = statistics.median(useful / frame for frame, useful in visited)
    known = chromium.new_context()
    _seconds(known, address)
    again = statistics.median(_seconds(known, address)[1] for _ in range(visits))
    known.close()
    return f"| {name} | {cold:.2f} | {warm:.2f} | {ratio:.1f} | {again:.2f} |"


def _seconds(browsing: Browser | BrowserContext, address: str) -> tuple[float, float]:
    """From asking for a page in a new window to its frame, and to its first numbers.

    Args:
      browsing: A browser, whose windows know nothing of each other, or windows that do.
      address: Of the page.
    """
    page = browsing.new_page()
    page.set_viewport_size({"width": 1280, "height": 900})
    started = time.perf_counter()
    page.goto(address)
    page.wait_for_selector(FRAME)
    frame = time.perf_counter() - started
    # A folded table is there, and not visible.
    page.wait_for_selector(USEFUL, state="attached", timeout=120_000)
    useful = time.perf_counter() - started
    page.close()
    return frame, useful


if __name__ == "__main__":
    main()
