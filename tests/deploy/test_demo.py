"""The wheel where there is no checkout, and its demo: from nothing to pages, Ctrl-C, and again."""

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import urllib.request
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import psycopg
import pytest
import sqlalchemy as sa

from pipelines.database.embedded import cluster
from pipelines.database.engine import open_engine
from pipelines.planning.morning_message import read_tables
from pipelines.settings import Settings
from tests.pipelines.faults.victim import invent_training
from tests.pipelines.in_process import harbor
from tests.ports import free_port

pytestmark = pytest.mark.db

ROOT = Path(__file__).parents[2]
PACKAGES = ("forecaster", "pipelines", "dashboard", "migrations")
NO_DATA = {".png"}
# Two of its depots are in London, of which the one that is open on Sundays can be late on any day.
SMALL = ("--depots", "5", "--days", "70")
PATIENCE_S = 300
COUNTED_SINCE = """
    select max(recorded_at) > (select max(finished_at) from runs
                               where step = 'demand' and parent_id is not null)
    from demand_versions
"""
NOTEBOOK = """
import sys
import pandas as pd
from forecaster import forecast, load

days = pd.date_range("2026-01-01", periods=60)
orders = pd.DataFrame({"depot_id": "A", "date": days, "orders": 80 + 5 * days.dayofweek})
print(forecast(load(sys.argv[1]), orders).to_csv(index=False))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from nothing but what git would hand on, by way of the source distribution."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, source / package, ignore=ignored)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, source)
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--outdir",
        folder,
        source,
    ]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(
    scope="module",
    params=[
        "dependencies of these tests",
        pytest.param("dependencies from the index", marks=pytest.mark.image),
    ],
)
def installed(request, wheel):
    """An environment with the wheel, and a home for its user, with spaces in their names."""
    folder = Path(tempfile.mkdtemp(prefix="harbor wheel "))
    folder.chmod(0o755)  # as root, the server's account must be able to enter
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    options, what = ["--no-deps", "--no-index"], str(wheel)
    if request.param == "dependencies from the index":
        options, what = [], f"{wheel}[all]"
    else:
        site = sysconfig.get_path("purelib", vars={"base": str(environment)})
        (Path(site) / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *options, what], check=True)
    (folder / "home").mkdir()
    # Without XLA_FLAGS: programs are optimised as they are by default.
    own = ("HARBOR_", "XDG_", "PYTHON", "VIRTUAL_ENV", "XLA_FLAGS")
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith(own)
    }
    yield SimpleNamespace(
        bin=environment / "bin",
        home=folder / "home",
        variables={**variables, "HOME": str(folder / "home")},
    )
    shutil.rmtree(folder)


def run(installed, *words):
    done = subprocess.run(
        [installed.bin / words[0], *words[1:]],
        env=installed.variables, cwd=installed.home, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done


def is_healthy(port):
    """Whether the pages' server answers, also with what it serves before the first page."""
    address = f"http://127.0.0.1:{port}"
    try:
        for path in ("_stcore/health", "first-page"):
            urllib.request.urlopen(f"{address}/{path}", timeout=5).close()
    except OSError:
        return False
    return True


def test_every_file_of_the_packages_is_in_it(wheel):
    with zipfile.ZipFile(wheel) as archive:
        inside = {*archive.namelist()}
    expected = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.suffix not in NO_DATA
    }
    assert expected - inside == set()
    assert not [name for name in inside if name.startswith("tests")]


def test_the_program_is_that_of_the_wheel(installed):
    for program in ("harbor", "harbor-fleet"):
        assert "forecast" in run(installed, program, "--help").stdout
    where = run(
        installed, "python", "-c", "import pipelines; print(pipelines.__file__)"
    )
    assert where.stdout.startswith(str(installed.bin.parent))


@pytest.fixture(scope="module")
def home(installed):
    """The user's data directory, where all of it lies away from a checkout."""
    return installed.home / ".local" / "share" / "harbor-fleet"


def test_from_nothing_to_the_scores(installed, home):
    done = run(installed, "harbor", "demo", *SMALL, "--no-serve")
    stages = ("Inventing", "Loading", "Training", "Hindcasting", "Simulating", "Ready")
    for stage in stages:
        assert stage in done.stderr
    assert list((home / "artefacts").glob("*.npz"))


def test_a_notebook_forecasts_with_its_model(installed, home):
    models = json.loads(run(installed, "harbor", "models", "list", "--json").stdout)
    (champion,) = [each["filename"] for each in models if each["role"] == "champion"]
    path = home / "artefacts" / champion
    notebook = run(installed, "python", "-c", NOTEBOOK, str(path))
    assert notebook.stdout.count("\nA,2026-03-01,") == 7


def test_its_last_nights_were_simulated_one_nightly_run_at_a_time(home):
    with (
        open_engine(Settings(home=home)) as engine,
        engine.connect() as connection,
    ):

        def read(statement):
            return connection.execute(sa.text(statement)).all()

        nights = read(
            "select origin_on, state, started_at from runs "
            "where step = 'nightly' order by started_at"
        )
        assert [state for _, state, _ in nights] == ["done"] * 10
        assert len({day for day, _, _ in nights}) == 10
        for day, _, started_at in nights:
            assert started_at.date() == day + timedelta(days=1)
        late = "select from runs where step = 'nightly' and metrics ? 'late_depots'"
        assert len(read(late)) == 1
        corrected = (
            "select from runs where step = 'demand' and metrics ->> 'corrected' <> '0'"
        )
        assert len(read(corrected)) == 1
        roles = [role for (role,) in read("select role from models")]
        assert {"champion", "evaluation"} <= {*roles}
        assert {*roles} & {"retired", "rejected"}, "the model before, or the new one"
        assert len(read("select from runs where step = 'train' and parent_id > 0")) == 1
        assert read("select from event_versions")
        assert not read(
            "select from event_versions v join files f using (file_id)"
            " where v.known_at > f.loaded_at + interval '1 minute'"
        )
        live_days = read("select distinct target_on from scores where is_live")
        assert len(live_days) == 9
        overrides = read("select made_by, made_at, origin_on from overrides")
        assert len(overrides) >= 2
        for _, made_at, origin_on in overrides:
            assert made_at.date() == origin_on + timedelta(days=1)
        assert not read(
            "select from runs where started_at > now() or state = 'running'"
        )


def test_the_smallest_shortage_of_the_days_ahead_is_decided(home):
    settings = Settings(home=home)
    with open_engine(settings) as engine:
        with engine.connect() as connection:
            origin = connection.scalar(sa.text("select origin_on from shown_forecast"))
            made = connection.scalars(
                sa.text("select target_on from van_decisions")
            ).all()
        days = read_tables(engine, settings, origin, datetime.now(UTC)).plan.cities
    lacking = days[days["lacking"] > 0]
    decided = lacking[lacking["is_decided"]]
    assert [day.date() for day in decided["target_on"]] == made
    assert list(decided["lacking"]) == list(lacking["lacking"].nsmallest(1))
    assert (decided["short"] == 0).all()


def test_a_night_right_after_it_has_nothing_to_do(home):
    """Except around midnight: a day may have ended since, at three of its five depots or all.

    Until 04:00 the orders of today may be the first to show that a depot had none yesterday.
    """
    with (
        open_engine(Settings(home=home)) as engine,
        engine.connect() as connection,
    ):
        origin = connection.scalar(sa.text("select origin_on from shown_forecast"))
        has_news = connection.scalar(sa.text(COUNTED_SINCE))
    done = harbor("nightly", HARBOR_HOME=str(home))
    ended = datetime.now(ZoneInfo("Europe/Amsterdam")).date() - timedelta(days=1)
    if (ended > origin or has_news) and done.returncode == 0:
        assert f"The night of {ended} is done. See 'harbor runs show" in done.stderr
        return
    assert done.returncode == 3, done.stderr
    assert "nothing has come in since" in done.stderr


def test_the_wheel_serves_its_pages(installed, home):
    port = free_port()
    server = subprocess.Popen(
        [installed.bin / "harbor", "dashboard", "--port", str(port)],
        env=installed.variables, cwd=installed.home, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not is_healthy(port):
            assert server.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.2)
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(PATIENCE_S)


def test_again_from_a_checkout_it_goes_on_serves_and_ctrl_c_stops_everything(home):
    port = free_port()
    command = [sys.executable, "-m", "pipelines", "demo", *SMALL, "--port", str(port)]
    environment = {**os.environ, "HARBOR_HOME": str(home)}
    del environment["XLA_FLAGS"]
    started = time.monotonic()
    log = home.with_name("demo.log")
    with log.open("w") as out:
        process = subprocess.Popen(
            command, env=environment, cwd=ROOT, start_new_session=True, stdout=out,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
    while not (is_healthy(port) and "Ready after" in log.read_text()):
        assert process.poll() is None, log.read_text()
        assert time.monotonic() - started < PATIENCE_S
        time.sleep(0.2)
    # As a terminal does: to every process of the foreground group.
    os.killpg(process.pid, signal.SIGINT)
    process.wait(timeout=60)
    output = log.read_text()
    assert output.index("Dashboard:") < output.index("Training"), "pages come first"
    assert output.count("already") == 4, "all but loading, which finds nothing new"
    assert "Traceback" not in output
    assert not is_healthy(port)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(cluster.address(cluster.locate(home)))
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_own_files_are_refused_beside_the_invented_ones(home, monkeypatch):
    """From the command line and from the inbox, however good they are."""
    invent_training(monkeypatch.setattr)
    own = home.with_name("own.csv")
    own.write_text("depot_id,date,orders\nMINE,2026-01-01,5\n")
    inbox = home / "inbox" / "own.csv"
    shutil.copy(own, inbox)
    for command in (("ingest", str(own)), ("nightly",)):
        done = harbor(*command, HARBOR_HOME=str(home))
        assert done.returncode == 1
        assert "holds the 5 invented depots of 'harbor demo'" in done.stderr
        assert "export HARBOR_HOME" in done.stderr
    inbox.unlink()


def test_another_fleet_in_the_same_place_is_refused(home):
    other = ("demo", *SMALL, "--no-serve", "--seed", "7")
    done = harbor(*other, HARBOR_HOME=str(home))
    assert done.returncode == 1
    assert "invented with other options" in done.stderr
