"""Alerts and boards: real tools accept them, their metrics exist, and they say what to do."""

import json
import re
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from pipelines.database.roles import create_readonly_engine
from pipelines.monitoring.notifications import Notifier
from pipelines.monitoring.server import MonitorState, Probe, serving
from pipelines.monitoring.watcher import Watcher
from pipelines.settings import Settings
from tests.deploy.tools import DEPLOY, find_tool
from tests.pipelines.monitoring.monitored import NOW, running_night, seed_watched
from tests.ports import free_port

PROMETHEUS = DEPLOY / "prometheus"
GRAFANA = DEPLOY / "grafana"
BOARDS = {path.stem: path for path in sorted((GRAFANA / "dashboards").glob("*.json"))}
ALERTMANAGER = DEPLOY / "alertmanager" / "alertmanager.yml"
RULES = [
    rule
    for group in yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())["groups"]
    for rule in group["rules"]
]
ALERTS = [rule for rule in RULES if "alert" in rule]
NAME = re.compile(r"\b(?:harbor|process|scrape)[_:][a-z0-9_:]+\b|\bup\b|\bALERTS\b")


def panels(board):
    panels = json.loads(BOARDS[board].read_text())["panels"]
    return [panel for panel in panels if panel["type"] != "row"]


def queries():
    """Every query of alerts and boards, by where it stands."""
    expressions = {rule["alert"]: rule["expr"] for rule in ALERTS}
    for board in BOARDS:
        for panel in panels(board):
            for target in panel["targets"]:
                where = f"{board}: {panel['title']} {target['refId']}"
                expressions[where] = target["expr"]
    return expressions


def anchors(page):
    """The headings of a page as links name them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {
        re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
        for title in titles
    }


def promtool(*arguments):
    return checked("promtool", "prometheus", *arguments)


def amtool(*arguments):
    return checked("amtool", "prometheus-alertmanager", *arguments)


def checked(name, package, *arguments):
    """Runs a checking tool, which must succeed, and returns its output."""
    done = subprocess.run(
        [find_tool(name, package), *arguments],
        cwd=PROMETHEUS,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_promtool_takes_configuration_and_rules():
    promtool("check", "config", "prometheus.yml")


def test_the_rules_do_what_their_tests_say():
    promtool("test", "rules", "alerts_test.yml")


@pytest.mark.parametrize("severity", ["page", "ticket"])
def test_an_alert_goes_to_the_receiver_of_its_severity(severity):
    route = amtool(
        "config",
        "routes",
        "test",
        f"--config.file={ALERTMANAGER}",
        f"severity={severity}",
    )
    assert route.split() == [severity]


def test_amtool_takes_the_configuration_and_what_it_shows_as_examples(tmp_path):
    text = ALERTMANAGER.read_text()
    filled = tmp_path / "alertmanager.yml"
    filled.write_text(re.sub(r"^    # (slack|email|  )", r"    \1", text, flags=re.M))
    receivers = yaml.safe_load(filled.read_text())["receivers"]
    assert [len(receiver) for receiver in receivers] == [2, 2]
    amtool("check-config", str(ALERTMANAGER), str(filled))


def test_every_alert_has_a_test():
    tested = (PROMETHEUS / "alerts_test.yml").read_text()
    assert len(ALERTS) > 20
    assert [rule["alert"] for rule in ALERTS if rule["alert"] not in tested] == []


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_says_how_bad_it_is_and_leads_to_the_runbook(rule):
    assert rule["labels"]["severity"] in ("page", "ticket")
    annotations = rule["annotations"]
    assert all(annotations[name].strip() for name in ("summary", "description"))
    path, _, anchor = annotations["runbook_url"].partition("#")
    page = DEPLOY.parent / path
    assert page.name == "RUNBOOK.md"
    assert anchor in anchors(page), f"RUNBOOK.md has no heading for #{anchor}"


def test_alerts_and_budgets_rest_on_the_levels_that_are_promised():
    page = (DEPLOY / "SERVICE_LEVELS.md").read_text()
    promised = dict(re.findall(r"^\| (\w+) \| (\d+) % of ", page, re.M))
    objectives = {
        rule["labels"]["slo"]: float(rule["expr"].removeprefix("vector(")[:-1])
        for rule in RULES
        if rule.get("record") == "harbor:slo_objective"
    }
    assert objectives == {slo: int(share) / 100 for slo, share in promised.items()}
    expressions = {rule["alert"]: rule["expr"] for rule in ALERTS}
    for alert, slo in (
        ("HarborForecastMissing", "forecast_ready"),
        ("HarborDashboardDown", "dashboard_up"),
        ("HarborDashboardSlow", "dashboard_quick"),
    ):
        assert expressions[alert].count(f"(1 - {objectives[slo]}) > 3") == 2


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


@pytest.fixture
def scraped(clean_engine, database_url, tmp_path):
    """A watch that serves the seeded fleet, and the port it serves it on."""
    seed_watched(clean_engine)
    reader_engine = create_readonly_engine(database_url)
    settings = Settings(home=tmp_path, watch_dashboard="")
    state = MonitorState(tmp_path, datetime.now(UTC) - timedelta(hours=1))
    watcher = Watcher(settings, reader_engine, state, Notifier([]))
    with running_night(clean_engine):
        watcher.watch_once(NOW)
    # A snapshot of long ago counts as that of a watch that hangs.
    state.snapshot = replace(state.snapshot, taken_at=datetime.now(UTC))
    state.probe = Probe(NOW, 0.5)
    reader_engine.dispose()
    with serving(state, "127.0.0.1", 0) as port:
        yield port


@pytest.fixture
def prometheus(scraped, tmp_path):
    """A real Prometheus with our rules that scrapes the watch; gets a path of its API."""
    program = find_tool("prometheus", "prometheus")
    config = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    rules = yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())
    for group in rules["groups"]:
        group.pop("interval", None)
    (tmp_path / "alerts.yml").write_text(yaml.safe_dump(rules))
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

    def get(path, **parameters):
        query = urllib.parse.urlencode(parameters)
        url = f"http://127.0.0.1:{port}/api/v1/{path}?{query}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]

    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield get
    finally:
        server.terminate()
        server.wait()


def wait_for(get, seconds=60):
    """Calls a function until it returns something, and returns that."""
    until = time.monotonic() + seconds
    pause = threading.Event()
    while time.monotonic() < until:
        try:
            if answer := get():
                return answer
        except OSError:
            pass
        pause.wait(0.1)
    pytest.fail(f"nothing came within {seconds} s")


@pytest.mark.db
def test_a_real_prometheus_finds_every_metric_of_alerts_and_boards(prometheus):
    wait_for(lambda: prometheus("query", query="harbor_up == 1")["result"])
    wait_for(lambda: prometheus("query", query="ALERTS")["result"])
    budget = "harbor:slo_error_budget_remaining:ratio_90d"
    wait_for(lambda: len(prometheus("query", query=budget)["result"]) == 3)
    there = set(prometheus("label/__name__/values"))
    for where, query in queries().items():
        named = set(NAME.findall(query))
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


def test_the_runbook_names_alerts_that_exist():
    rules = set(
        re.findall(r"alert: (\w+)", (DEPLOY / "prometheus/alerts.yml").read_text())
    )
    named = set(re.findall(r"\bHarbor[A-Z]\w+", (DEPLOY / "RUNBOOK.md").read_text()))
    assert named - {"HarborTest"} <= rules
