"""Twenty people read the dashboard at once, in real browsers, while a night runs.

    python -m tests.benchmarks.people [--people N] [--depots N] [--days N] [--views N]

A fleet is invented and loaded, a first model trained, and yesterday's counts put into the
inbox. Then everybody opens the dashboard and turns from page to page, reading some seconds
in between: first with nothing else at work, then while `harbor nightly` loads, trains and
forecasts. The browsers run on the same cores as the program, so what a person with a
machine of their own meets is quicker.
"""

import argparse
import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.async_api import Browser, Page, async_playwright

from pipelines.cli.context import open_context
from tests.benchmarks.invented import invented_panel
from tests.benchmarks.machine import cores, stamp
from tests.dashboard.browser import browser

PAGES = ("Days ahead", "Depot", "Plan", "Accuracy", "Models", "Pipeline")
READING_S = (3.0, 8.0)
PATIENCE_MS = 120_000
THERE = """title => {
    const app = document.querySelector('[data-testid="stApp"]');
    return app && app.dataset.testScriptState === 'notRunning'
        && document.querySelector('h1')?.textContent.trim() === title
        && document.querySelector(
            '.hf-figures, table.hf, [data-testid="stAlert"]');
}"""
WRONG = '[data-testid="stException"], [data-testid="stConnectionStatus"]'


@dataclass
class Views:
    """Experience of all people: seconds of each page, and what went wrong."""

    opened: list[float] = field(default_factory=list)
    turned: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def main() -> None:
    """Measures both, and prints a row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--depots", type=int, default=120)
    parser.add_argument("--days", type=int, default=548)
    parser.add_argument("--views", type=int, default=6, help="of each, at least")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="harbor-people-") as folder:
        home = Path(folder)
        home.chmod(0o755)  # as root, the server's account must be able to enter
        os.environ |= {"HARBOR_HOME": folder, "HARBOR_SETTLE_SECONDS": "0"}
        with open_context() as context:
            url = context.engine.url.render_as_string(hide_password=False)
            last = prepare(home, args.depots, args.days)
            with browser.serving(url, home) as address:
                asyncio.run(measure(address, home, last, args.people, args.views))


def prepare(home: Path, n_depots: int, n_days: int) -> date:
    """Loads all days but the last, and forecasts with a first model; the last day."""
    panel = invented_panel(n_depots, n_days)
    last = datetime.now(UTC).date() - timedelta(days=1)
    ids = list(panel.depot_ids)
    depots = pd.DataFrame({"depot_id": ids, "name": ids, "city": panel.cities})
    depots = depots.assign(timezone="UTC", country="NL", subdivision="")
    days = np.tile(pd.date_range(end=last, periods=n_days), n_depots)
    orders = panel.demand_dt.astype(int).ravel()
    daily = pd.DataFrame(
        {"depot_id": np.repeat(ids, n_days), "date": days, "orders": orders}
    )
    is_last = daily["date"] == pd.Timestamp(last)
    inbox = home / "inbox"
    inbox.mkdir()
    depots.to_csv(inbox / "depots.csv", index=False)
    daily[~is_last].to_csv(inbox / "history.csv", index=False)
    for command in (("ingest", str(inbox)), ("train", "--epochs", "3"), ("forecast",)):
        harbor(*command).wait()
    daily[is_last].to_csv(inbox / "yesterday.csv", index=False)
    return last


async def measure(
    address: str, home: Path, last: date, n_people: int, n_views: int
) -> None:
    """Has everybody read twice, and prints what they met."""
    print(stamp())
    print("| at work | opened p50 | p95 | turned p50 | p95 | worst | views | errors |")
    print("|---|---|---|---|---|---|---|---|")
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(
            executable_path=browser.CHROMIUM, args=browser.FLAGS
        )
        alone = await everybody(chromium, address, n_people, n_views, lambda: False)
        print(row("nothing else", alone))
        started, night = time.perf_counter(), harbor("nightly", "--origin", str(last))
        beside = await everybody(
            chromium, address, n_people, n_views, lambda: night.poll() is None
        )
        status = night.wait()
        print(row("a night", beside))
        await chromium.close()
    print(
        f"{n_people} people; the night ended with {status} after "
        f"{time.perf_counter() - started:.0f} s; load of the last minute "
        f"{os.getloadavg()[0]:.1f} on {cores()} cores."
    )
    for wrong in (alone.wrong + beside.wrong)[:10]:
        print(f"  {wrong}")


async def everybody(
    chromium: Browser,
    address: str,
    n_people: int,
    n_views: int,
    goes_on: Callable[[], bool],
) -> Views:
    """All people at once, each for so many pages at least and as long as it goes on."""
    views = Views()
    people = (
        person(chromium, address, number, n_views, goes_on, views)
        for number in range(n_people)
    )
    await asyncio.gather(*people)
    return views


async def person(
    chromium: Browser,
    address: str,
    number: int,
    n_views: int,
    goes_on: Callable[[], bool],
    views: Views,
) -> None:
    """One person with a browser of their own, who reads page after page."""
    chance = random.Random(number)
    context = await chromium.new_context(viewport={"width": 1280, "height": 900})
    page = await context.new_page()
    page.on("pageerror", lambda error: views.wrong.append(str(error)))
    # They come within the same half minute, not within the same millisecond.
    await asyncio.sleep(chance.uniform(0, 30))
    seen = 0
    while seen < n_views or goes_on():
        title = PAGES[(number + seen) % len(PAGES)]
        into = views.turned if seen else views.opened
        into.append(await _seconds(page, address, title, is_first=not seen))
        views.wrong += [
            f"{title}: {await each.inner_text()}"
            for each in await page.locator(WRONG).all()
        ]
        seen += 1
        await asyncio.sleep(chance.uniform(*READING_S))
    await context.close()


async def _seconds(page: Page, address: str, title: str, is_first: bool) -> float:
    """From asking for a page to its numbers, all drawn."""
    started = time.perf_counter()
    if is_first:
        path = "" if title == PAGES[0] else title.lower()
        await page.goto(f"{address}/{path}", timeout=PATIENCE_MS)
    else:
        await page.get_by_role("link", name=title, exact=True).first.click()
    await page.wait_for_function(THERE, arg=title, timeout=PATIENCE_MS)
    return time.perf_counter() - started


def row(name: str, views: Views) -> str:
    """One line of the table."""
    cells = []
    for seconds in (views.opened, views.turned):
        cuts = statistics.quantiles(seconds, n=20, method="inclusive")
        cells += [f"{cuts[9]:.2f}", f"{cuts[18]:.2f}"]
    every = views.opened + views.turned
    cells += [f"{max(every):.2f}", str(len(every)), str(len(views.wrong))]
    return f"| {name} | {' | '.join(cells)} |"


def harbor(*arguments: str) -> subprocess.Popen[bytes]:
    """The program, in a process of its own."""
    command = [sys.executable, "-m", "pipelines", *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
