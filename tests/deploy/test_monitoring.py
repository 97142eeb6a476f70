"""Alerts and boards: real tools take them, they name numbers that exist, and say what to do."""

import json
import re
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from dashboard.sql import fleet
from pipelines.database.readonly_engine import create_readonly_engine
from pipelines.monitoring import service_levels
from pipelines.monitoring.notifications.notifier import Notifier
from pipelines.monitoring.probe import Page
from pipelines.monitoring.server import serving
from pipelines.monitoring.state import MonitorState, Probe
from pipelines.monitoring.watcher import Watcher
from pipelines.settings import Settings
from tests.deploy.tools import DEPLOY, tool
from tests.pipelines.monitoring.monitored import NOW, running_night, seed_watched
from tests.ports import free_port

PROMETHEUS = DEPLOY / "prometheus"
GRAFANA = DEPLOY / "grafana"
BOARDS = {path.stem: path for path in sorted((GRAFANA / "dashboards").glob("*.json"))}
RULES = [
    rule
    for group in yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())["groups"]
    for rule in group["rules"]
]
NAME = re.compile(r"\b(?:harbor|process|scrape)_[a-z0-9_]+\b|\bup\b|\bALERTS\b")


def panels(board):
    found = json.loads(BOARDS[board].read_text())["panels"]
    return [panel for panel in found if panel["type"] != "row"]


def queries():
    """Every query of alerts and boards, by where it stands."""
    found = {rule["alert"]: rule["expr"] for rule in RULES}
    for board in BOARDS:
        for panel in panels(board):
            for target in panel["targets"]:
                where = f"{board}: {panel['title']} {target['refId']}"
                found[where] = target["expr"]
    return found


def anchors(page):
    """The headings of a page as links name them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {
        re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
        for title in titles
    }


def promtool(*arguments):
    program = tool("promtool", "prometheus")
    return subprocess.run(
        [program, *arguments],
        cwd=PROMETHEUS,
        capture_output=True,
        text=True,
        check=False,
    )


def test_promtool_takes_configuration_and_rules():
    done = promtool("check", "config", "prometheus.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_do_what_their_tests_say():
    done = promtool("test", "rules", "alerts_test.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_test():
    tested = (PROMETHEUS / "alerts_test.yml").read_text()
    assert len(RULES) > 20
    assert [rule["alert"] for rule in RULES if rule["alert"] not in tested] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_says_how_bad_it_is_and_leads_to_the_runbook(rule):
    assert rule["labels"]["severity"] in ("page", "ticket")
    told = rule["annotations"]
    assert all(told[name].strip() for name in ("summary", "description"))
    path, _, anchor = told["runbook_url"].partition("#")
    page = DEPLOY.parent / path
    assert page.name == "RUNBOOK.md"
    assert anchor in anchors(page), f"RUNBOOK.md has no heading for #{anchor}"


def test_alerts_burn_the_budgets_that_are_promised():
    """The rules have the shares as numbers; they must be those of the program."""
    expressions = {rule["alert"]: rule["expr"] for rule in RULES}
    for alert, wanted in (
        ("HarborForecastMissing", service_levels.NIGHTS_READY),
        ("HarborDashboardDown", service_levels.ANSWERED),
        ("HarborDashboardSlow", service_levels.QUICK),
    ):
        assert expressions[alert].count(f"(1 - {wanted}) > 3") == 2
    assert f"> bool {service_levels.QUICK_S})" in expressions["HarborDashboardSlow"]


def test_the_service_levels_that_are_written_down_are_those_computed():
    told = (DEPLOY / "SERVICE_LEVELS.md").read_text()
    for name, wanted in (
        ("forecast_ready", service_levels.NIGHTS_READY),
        ("dashboard_up", service_levels.ANSWERED),
        ("dashboard_quick", service_levels.QUICK),
    ):
        assert re.search(rf"^\| {name} \| {100 * wanted:.0f} % of ", told, re.M)
    assert f"took {service_levels.QUICK_S} s at most" in told


def test_there_is_a_board_for_each_reader():
    assert set(BOARDS) == {"owner", "on-call", "debugging"}
    wholes = [json.loads(path.read_text()) for path in BOARDS.values()]
    assert len({whole["uid"] for whole in wholes}) == 3
    assert all(whole["title"] and whole["description"] for whole in wholes)


@pytest.mark.parametrize("board", BOARDS)
def test_every_panel_says_what_it_shows_and_in_what(board):
    source = GRAFANA / "provisioning/datasources/prometheus.yml"
    (named,) = yaml.safe_load(source.read_text())["datasources"]
    for panel in panels(board):
        assert panel["title"]
        assert len(panel["description"]) > 10
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["datasource"]["uid"] == named["uid"]
        assert panel["targets"]


@pytest.mark.parametrize("board", BOARDS)
def test_no_panel_lies_on_another(board):
    taken = set()
    for panel in json.loads(BOARDS[board].read_text())["panels"]:
        place = panel["gridPos"]
        cells = {
            (place["x"] + x, place["y"] + y)
            for x in range(place["w"])
            for y in range(place["h"])
        }
        assert max(x for x, _ in cells) < 24
        assert not taken & cells, panel["title"]
        taken |= cells


@pytest.fixture
def scraped(clean_engine, database_url, tmp_path):
    """A watch that serves the seeded fleet, and the port it serves it on."""
    seed_watched(clean_engine)
    reader_engine = create_readonly_engine(database_url)
    settings = Settings(home=tmp_path, watch_dashboard="")
    screen = MonitorState(tmp_path, datetime.now(UTC) - timedelta(hours=1))
    nobody = Notifier({}, timedelta(hours=26))
    page = Page(fleet.FRESHNESS, fleet.DAILY_TOTALS, fleet.FLEET_WEEK)
    watcher = Watcher(settings, reader_engine, clean_engine, screen, page, nobody)
    with running_night(clean_engine):
        watcher.watch_once(NOW)
    screen.probe = Probe(NOW, 0.5)
    reader_engine.dispose()
    with serving(screen, "127.0.0.1", 0) as port:
        yield port


@pytest.fixture
def prometheus(scraped, tmp_path):
    """A real Prometheus with our rules that scrapes the watch; asks it something."""
    program = tool("prometheus", "prometheus")
    config = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["rule_files"] = [str(PROMETHEUS / "alerts.yml")]
    config["scrape_configs"][0]["static_configs"][0]["targets"] = [
        f"127.0.0.1:{scraped}"
    ]
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config))
    port = free_port()
    command = [
        program,
        f"--config.file={tmp_path / 'prometheus.yml'}",
        f"--storage.tsdb.path={tmp_path / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]

    def ask(path, **asked):
        url = f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(asked)}"
        with urllib.request.urlopen(url, timeout=10) as told:
            return json.load(told)["data"]

    with (tmp_path / "said").open("wb") as said:
        server = subprocess.Popen(command, stdout=said, stderr=said)
    try:
        yield ask
    finally:
        server.terminate()
        server.wait()


def wait_for(ask, seconds=60):
    """What is asked for, once it is there."""
    until = time.monotonic() + seconds
    pause = threading.Event()
    while time.monotonic() < until:
        try:
            if found := ask():
                return found
        except OSError:
            pass
        pause.wait(0.1)
    pytest.fail(f"nothing came within {seconds} s")


@pytest.mark.db
def test_a_real_prometheus_finds_every_number_that_alerts_and_boards_name(prometheus):
    wait_for(lambda: prometheus("query", query="harbor_up == 1")["result"])
    wait_for(lambda: prometheus("query", query="ALERTS")["result"])
    there = set(prometheus("label/__name__/values"))
    for where, query in queries().items():
        named = set(NAME.findall(query))
        assert named, where
        assert named <= there, f"{where} names {named - there}"
        # It must be a query that Prometheus can answer, too.
        prometheus("query", query=query)
    # Of the alerts that wait for nothing, those fire that the seeded night deserves.
    deserved = {"HarborModelWorse", "HarborFilesRefused"}
    wait_for(lambda: deserved <= firing(prometheus))
    assert "HarborForecastMissing" not in firing(prometheus)


def firing(prometheus):
    return {
        alert["labels"]["alertname"]
        for alert in prometheus("alerts")["alerts"]
        if alert["state"] == "firing"
    }
