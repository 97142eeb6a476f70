"""A month in which much goes wrong ends with the tables of one in which nothing did.

Late files, a correction, a new depot and a closure come to both. In one of them a night is
killed in training, nights are run twice, and a bad model is published and rolled back; many of
its nights run in processes of their own, as the scheduler starts them. The other one's all
run in this process.
"""

import itertools
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa

from forecaster.errors import NothingToDoError
from pipelines.forecasting import forecast as forecasting
from pipelines.settings import Settings
from pipelines.store import models as store
from tests.conftest import empty_tables
from tests.pipelines.faults.faults import TABLES, tables
from tests.pipelines.make import forecast_from, save_model
from tests.soak import inbox_files
from tests.soak.inbox_files import NIGHTS, Inbox, origin_of
from tests.soak.night import IN_TRAINING, now_after, run_here, start

pytestmark = pytest.mark.soak

KILLED_NIGHT, BAD_MODEL_NIGHT = 18, 22
REPEATED_NIGHTS = {3, 20}
SUBPROCESS_NIGHTS = {0, 1, KILLED_NIGHT, *REPEATED_NIGHTS, *range(5, NIGHTS, 3)}
LATER = timedelta(hours=3)
MAX_GROWTH = 1.10
TOO_HIGH = 0.5
"""Added to the bad model's corrections, log counts."""


@dataclass
class ResourceUsage:
    """Memory and disk after each night of a month, in bytes."""

    memory: list[int] = field(default_factory=list)
    disk: list[dict[str, int]] = field(default_factory=list)

    def measure(self, home: Path) -> None:
        """Measures at the end of a night."""
        self.memory.append(resident_memory())
        folders = ("artefacts", "checkpoints", "compiled")
        self.disk.append({name: folder_size(home / name) for name in folders})

    def growth(self, name: str, since: int) -> list[int]:
        """Growth of a folder in each night after the night `since`, in bytes."""
        sizes = [each[name] for each in self.disk[since:]]
        return [after - before for before, after in itertools.pairwise(sizes)]


def resident_memory() -> int:
    """Resident memory of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return 1024 * int(line.split()[1])
    raise AssertionError("VmRSS is missing")


def folder_size(folder: Path) -> int:
    """Total size of the files in a folder, in bytes."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


@dataclass
class Month:
    """The tables and measurements at the end of a month."""

    tables: dict[str, list[str]]
    expected_demand: inbox_files.DailyCounts
    demand: inbox_files.DailyCounts
    scored: inbox_files.DailyCounts
    costs: list[dict]
    usage: ResourceUsage
    bad_version: str | None = None


@pytest.fixture(scope="module")
def disturbed(engine, database_url, tmp_path_factory):
    home = tmp_path_factory.mktemp("disturbed")
    settings = Settings(home=home)

    def run(night):
        if night not in SUBPROCESS_NIGHTS:
            run_here(engine, settings, night)
            return
        if night == KILLED_NIGHT:
            victim = start(home, database_url, night, IN_TRAINING)
            victim.reach_point()
            victim.process.kill()
            victim.end()
        status, output = start(home, database_url, night).end()
        assert status == 0, output
        if night in REPEATED_NIGHTS:
            _, output = start(home, database_url, night).end()
            assert f"night of {origin_of(night)} is done" in output

    yield live_through(engine, settings, run, BAD_MODEL_NIGHT)
    empty_tables(engine)


@pytest.fixture(scope="module")
def undisturbed(engine, disturbed, tmp_path_factory):
    home = tmp_path_factory.mktemp("undisturbed")
    empty_tables(engine)
    settings = Settings(home=home)
    yield live_through(engine, settings, partial(run_here, engine, settings))
    empty_tables(engine)


def live_through(engine, settings, run, bad_model_night=None):
    """Runs every night of a month with its files, and returns what is left at its end."""
    inbox, usage, bad_version = Inbox(settings.inbox), ResourceUsage(), None
    for night in range(NIGHTS):
        inbox.add_files_before(night)
        run(night)
        usage.measure(settings.home)
        if inbox.add_late_files(night):
            run_here(engine, settings, night, LATER)
        if night == bad_model_night:
            bad_version = publish_a_worse_model(engine, settings, night)
    return month(engine, inbox, usage, bad_version)


def publish_a_worse_model(engine, settings, night):
    """Promotes a bad model, forecasts with it, and rolls back."""
    with engine.connect() as connection:
        champion = store.champion(connection)
    champion_artefact = forecasting.load_recorded(settings.artefacts, champion)
    weights = champion_artefact.weights
    bad_model = replace(
        champion_artefact,
        network_share=1.0,
        weights=weights | {"correction/bias": weights["correction/bias"] + TOO_HIGH},
        seed=champion_artefact.seed + 1,
    )
    same = ("trained_through", "data_watermark", "scores")
    row = {name: champion[name] for name in same} | {"seed": bad_model.seed}
    save_model(engine, bad_model, settings.artefacts, role="challenger", **row)
    with engine.begin() as connection:
        store.promote(connection, bad_model.version, "It looked better.")
    before = total(engine, champion["version"], night)
    assert forecast(engine, settings, night, LATER) == bad_model.version
    assert total(engine, bad_model.version, night) > 1.2 * before
    with engine.begin() as connection:
        back = store.rollback_target(connection)
        store.promote(connection, back["version"], "Too high everywhere.")
    assert forecast(engine, settings, night, 2 * LATER) == champion["version"]
    return bad_model.version


def forecast(engine, settings, night, later):
    """Forecasts at a given time; the latest forecast is the published one."""
    now = now_after(night, later)
    origin = origin_of(night)
    return forecast_from(engine, settings.artefacts, origin, now, settings.zone)


def total(engine, version, night):
    query = (
        "select sum(point) from forecasts where model_version = :v and origin_on = :o"
    )
    with engine.connect() as connection:
        values = {"v": version, "o": origin_of(night)}
        return connection.scalar(sa.text(query), values)


def month(engine, inbox, usage, bad_version=None):
    with engine.connect() as connection:
        demand = connection.execute(
            sa.text(
                "select depot_id, service_on, orders from demand_versions "
                "where superseded_at is null and orders is not null"
            )
        )
        scored = connection.execute(
            sa.text("select depot_id, target_on, actual from scores")
        )
        costs = connection.scalars(
            sa.text(
                "select metrics from runs where step = 'train' and state = 'done' "
                "and not metrics ? 'by_run' order by run_id"
            )
        )
        return Month(
            tables(engine),
            inbox.expected_demand,
            {(depot, day): orders for depot, day, orders in demand},
            {(depot, day): actual for depot, day, actual in scored},
            list(costs),
            usage,
            bad_version,
        )


@pytest.mark.parametrize("name", TABLES)
def test_both_months_end_with_the_same_tables(disturbed, undisturbed, name):
    without = [
        row for row in disturbed.tables[name] if disturbed.bad_version not in row
    ]
    if name == "models":
        # Who was champion between is told by the role; in the end it is the same one.
        assert len(disturbed.tables[name]) == len(without) + 1
    assert without == undisturbed.tables[name]
    assert without or name in {"orders", "quarantine"}


def test_what_is_known_in_the_end_is_what_the_files_said_last(disturbed, undisturbed):
    closed = {
        (inbox_files.CLOSED_DEPOT, origin_of(night))
        for night in inbox_files.CLOSED_DAYS
    }
    for each in (disturbed, undisturbed):
        open_days = {
            key: value
            for key, value in each.expected_demand.items()
            if key not in closed
        }
        demand = {key: value for key, value in each.demand.items() if key not in closed}
        assert demand == open_days


def test_forecasts_are_scored_by_the_counts_that_hold(disturbed):
    assert len(disturbed.scored) > NIGHTS * len(inbox_files.DEPOTS) / 2
    assert disturbed.scored == {
        key: disturbed.expected_demand[key] for key in disturbed.scored
    }
    corrected = (inbox_files.CORRECTED_DEPOT, origin_of(inbox_files.CORRECTED_DAY))
    assert corrected in disturbed.scored
    assert not any(
        (inbox_files.CLOSED_DEPOT, origin_of(night)) in disturbed.scored
        for night in inbox_files.CLOSED_DAYS
    )


def test_nights_after_the_first_find_everything_compiled(disturbed):
    first, *others = disturbed.costs
    assert first["compilations"] > 0
    hits = sum(cost["cache_hits"] for cost in others)
    lookups = hits + sum(cost["cache_misses"] for cost in others)
    assert hits / lookups >= 0.95


def test_memory_stays_level(disturbed, undisturbed):
    """Memory of the process that ran a month, and of the subprocess of each night."""
    assert undisturbed.usage.memory[-1] < MAX_GROWTH * undisturbed.usage.memory[9]
    peaks = own_peaks(disturbed)
    assert max(peaks[5:]) < MAX_GROWTH * max(peaks[:5])


def test_disk_stays_level(disturbed, undisturbed):
    """Models are kept, as many bytes a night as the night before; nothing else is."""
    for each in (disturbed, undisturbed):
        grown = each.usage.growth("artefacts", BAD_MODEL_NIGHT + 1)
        assert max(grown) < MAX_GROWTH * min(grown)
        assert each.usage.disk[-1]["checkpoints"] == 0
        compiled = [sizes["compiled"] for sizes in each.usage.disk]
        assert compiled[-1] <= MAX_GROWTH * compiled[10]


def own_peaks(disturbed):
    """Peak memory of each night that ran in a subprocess."""
    return [
        disturbed.costs[night]["host_memory_peak_bytes"]
        for night in sorted(SUBPROCESS_NIGHTS)
    ]


@pytest.mark.usefixtures("disturbed")
def test_a_night_that_is_done_stays_done(engine, undisturbed, tmp_path):
    with pytest.raises(NothingToDoError, match="is done"):
        run_here(engine, Settings(home=tmp_path), NIGHTS - 1)
