"""Starts what the browser tests need: Chromium, and the dashboard as users run it."""

import os
import re
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.error import URLError

import pytest
from playwright.sync_api import Browser, Error, Page, Playwright
from playwright.sync_api import TimeoutError as TimeoutExpired

from pipelines.cli.dashboard import streamlit_arguments
from tests.ports import free_port

ROOT = Path(__file__).parents[3]
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    # No other machine is found.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
PATIENCE_S = 60
SIZES = {"phone": (390, 844), "desk": (1280, 900)}
"""Width and height in CSS pixels."""
# Streamlit looks for its server below the page's own address before the root.
SERVER_LOOKUP = re.compile(r"^http://[^/]+/\w+/_stcore/(health|host-config)$")
STANDS_STILL = '[data-testid="stApp"][data-test-script-state="notRunning"]'

TABLET = 768
TOO_WIDE = """() => Math.max(...[document.documentElement,
    document.querySelector('[data-testid=stMain]')]
    .map(element => element.scrollWidth - element.clientWidth))"""
# Tables that stand out of the column they are in.
OVERLAPPING = """() => [...document.querySelectorAll('table.hf')]
    .filter(table => table.getBoundingClientRect().width
        > table.closest('[data-testid=stHtml]').getBoundingClientRect().width + 1)
    .map(table => table.innerText.slice(0, 60))"""
ALL_DRAWN = """() => [...document.querySelectorAll('[data-testid=stVegaLiteChart]')]
    .every(chart => chart.querySelector('svg g'))"""


def launch(playwright: Playwright) -> Browser:
    """Chromium; where it is missing the test is skipped, or fails if it is required."""
    try:
        return playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    except Error as error:
        told = (
            "needs a browser: on Debian and Ubuntu apt-get install chromium, elsewhere set "
            f"CHROMIUM to its path ({str(error).splitlines()[0]})"
        )
    if os.environ.get("HARBOR_REQUIRE_BROWSER") == "1":
        pytest.fail(told)
    pytest.skip(told)


@contextmanager
def serving(
    database_url: str,
    home: Path,
    port: int | None = None,
    listen: str = "127.0.0.1",
    **others: str,
) -> Iterator[str]:
    """The dashboard as `harbor dashboard` starts it; gives its address.

    Args:
      database_url: Of the database that the pages read.
      home: HARBOR_HOME.
      port: To listen on; a free one without it.
      listen: Address to listen on.
      others: What else its environment says.
    """
    port = port or free_port()
    environment = {
        **os.environ,
        "HARBOR_DATABASE_URL": database_url,
        "HARBOR_HOME": str(home),
        **others,
    }
    log = (home / "dashboard.log").open("w+")
    server = subprocess.Popen(
        streamlit_arguments(listen, port, home),
        cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(PATIENCE_S)
        log.close()


def wait_until_healthy(address: str) -> None:
    """Returns once the server answers."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.1)
    raise TimeoutError(f"{address} did not answer within {PATIENCE_S} s")


class Visit:
    """One page of the dashboard in the browser, and what went wrong on it."""

    def __init__(self, page: Page, address: str, beside: str | None = None) -> None:
        """Watches a page, which may ask its server, and the one beside it, alone."""
        self.page, self.address = page, address
        self.wrong: list[str] = []
        page.set_default_timeout(PATIENCE_S * 1000)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", self._console)
        own = (address, beside or address)
        # Not by a route: with one, Chromium loads everything again for each window.
        page.on("request", lambda request: self._request(request.url, own))

    def to(self, path: str) -> str:
        """Opens a page, waits until it stands still, and gives its text."""
        self.page.goto(self.address + path)
        return self.settled()

    def close_form(self) -> None:
        """Closes the form of the page Plan."""
        self.page.get_by_role("link", name="Close", exact=True).click()
        self.page.wait_for_url(lambda url: "depot" not in url and "form" not in url)
        self.settled()

    def settled(self) -> str:
        """Waits until the page has run and drawn; gives its text."""
        self.page.wait_for_selector("h1", state="attached")
        self.page.wait_for_selector(STANDS_STILL)
        self.page.wait_for_function(ALL_DRAWN)
        self.page.wait_for_selector('[data-testid="stSkeleton"]', state="detached")
        return self.page.inner_text('[data-testid="stMain"]')

    def choose(self, label: str, option: str) -> None:
        """Opens a select box, types an option and takes it with Enter, all by keyboard.

        What is typed before the page had wired the box, or while it runs, is lost: it is typed
        again.
        """
        box = self.page.get_by_role("combobox", name=label)
        offered = self.page.get_by_role("option", name=option)
        deadline = time.monotonic() + PATIENCE_S
        while not offered.is_visible() and time.monotonic() < deadline:
            box.press("ArrowDown")
            box.fill(option)
            with suppress(TimeoutExpired):
                offered.wait_for(timeout=2000)
        box.press("Enter")

    def too_wide(self) -> float:
        """Pixels by which the page can be scrolled to the side."""
        return float(self.page.evaluate(TOO_WIDE))

    def fits(self, width: int) -> None:
        """Waits until the page, made as wide as a tablet, cannot be scrolled sideways."""
        self.page.set_viewport_size({"width": width, "height": SIZES["desk"][1]})
        self.page.wait_for_function(f"() => ({TOO_WIDE})() <= 0")
        overlapping = self.page.evaluate(OVERLAPPING)
        assert overlapping == [], f"at {width}: {overlapping}"

    def _console(self, message) -> None:
        url = message.location["url"]
        if message.type == "error" and not SERVER_LOOKUP.search(url):
            self.wrong.append(f"{message.text} ({url})")

    def _request(self, url: str, own: tuple[str, str]) -> None:
        if url.startswith("http") and not url.startswith(own):
            self.wrong.append(f"asks another host: {url}")
