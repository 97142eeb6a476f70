"""A month in which much goes wrong ends with the tables of one in which nothing did.

Late files, a correction, a new depot and a closure come to both. In one of them a night is
killed in training, nights are run twice, and a bad model is shown and rolled back; many of
its nights run in processes of their own, as the scheduler starts them. The other one's all
run in this process.
"""

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from forecaster.errors import NothingToDoError
from forecaster.inference import artefact
from forecaster.inference.postprocessing import Postprocessing
from pipelines.forecasting import forecast as forecasting
from pipelines.settings import Settings
from pipelines.store import models as store
from tests.conftest import empty_tables
from tests.pipelines.faults.faults import TABLES, tables
from tests.soak import arrivals
from tests.soak.arrivals import NIGHTS, Inbox, origin_of
from tests.soak.figures import Figures
from tests.soak.night import IN_TRAINING, now_after, run_here, start

pytestmark = [pytest.mark.db, pytest.mark.soak]

KILLED_NIGHT, WORSE_NIGHT = 18, 22
RUN_AGAIN = {3, 20}
IN_CHILDREN = {0, 1, KILLED_NIGHT, *RUN_AGAIN, *range(5, NIGHTS, 3)}
LATER = timedelta(hours=3)
MOST_GROWN = 1.10
SPOILT = -8.0
"""Spreads put on the point: a model that says far too much."""


@dataclass
class Month:
    """How a month ended."""

    tables: dict[str, list[str]]
    truth: arrivals.Counts
    demand: arrivals.Counts
    scored: arrivals.Counts
    costs: list[dict]
    figures: Figures
    worse: str | None = None


@pytest.fixture(scope="module")
def bad(engine, database_url, tmp_path_factory):
    home = tmp_path_factory.mktemp("bad")
    settings, figures = Settings(home=home), Figures()
    inbox, worse = Inbox(settings.inbox), None

    def run(night):
        if night not in IN_CHILDREN:
            run_here(engine, settings, night)
            return
        if night == KILLED_NIGHT:
            victim = start(home, database_url, night, IN_TRAINING)
            victim.reach_point()
            victim.process.kill()
            victim.end()
        status, output = start(home, database_url, night).end()
        assert status == 0, output
        if night in RUN_AGAIN:
            _, output = start(home, database_url, night).end()
            assert f"night of {origin_of(night)} is done" in output

    for night in range(NIGHTS):
        inbox.before(night)
        run(night)
        figures.measure(home)
        if inbox.after(night):
            run_here(engine, settings, night, LATER)
        if night == WORSE_NIGHT:
            worse = show_a_worse_model(engine, settings, night)
    yield month(engine, inbox, figures, worse)
    empty_tables(engine)


@pytest.fixture(scope="module")
def good(engine, bad, tmp_path_factory):
    home = tmp_path_factory.mktemp("good")
    empty_tables(engine)
    settings, figures = Settings(home=home), Figures()
    inbox = Inbox(settings.inbox)
    for night in range(NIGHTS):
        inbox.before(night)
        run_here(engine, settings, night)
        figures.measure(home)
        if inbox.after(night):
            run_here(engine, settings, night, LATER)
    yield month(engine, inbox, figures)
    empty_tables(engine)


def show_a_worse_model(engine, settings, night):
    """Promotes a spoilt champion, forecasts with it, and goes back as people do."""
    with engine.connect() as connection:
        champion = store.champion(connection)
    whole = forecasting.load_recorded(settings.artefacts, champion)
    spoilt = replace(
        whole, postprocessing=Postprocessing(shift=SPOILT), seed=whole.seed + 1
    )
    path = artefact.save(spoilt, settings.artefacts)
    row = {
        name: champion[name] for name in ("trained_through", "data_watermark", "scores")
    }
    with engine.begin() as connection:
        store.add_model(
            connection, version=spoilt.version, filename=path.name, seed=spoilt.seed,
            sha256=artefact.file_sha256(path), role="challenger", run_id=None, **row,
        )  # fmt: skip
        store.promote(connection, spoilt.version, "It looked better.")
    before = total(engine, champion["version"], night)
    assert forecast(engine, settings, night, LATER) == spoilt.version
    assert total(engine, spoilt.version, night) > 1.2 * before
    with engine.begin() as connection:
        back = store.rollback_target(connection)
        store.promote(connection, back["version"], "Too high everywhere.")
    assert forecast(engine, settings, night, 2 * LATER) == champion["version"]
    return spoilt.version


def forecast(engine, settings, night, later):
    """What was made last is what was shown, so each has a moment of its own."""
    now = now_after(night, later)
    origin = origin_of(night)
    return forecasting.forecast_from(
        engine, settings.artefacts, origin, now, settings.zone
    )


def total(engine, version, night):
    query = "select sum(p50) from forecasts where model_version = :v and origin_on = :o"
    with engine.connect() as connection:
        values = {"v": version, "o": origin_of(night)}
        return connection.scalar(sa.text(query), values)


def month(engine, inbox, figures, worse=None):
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
            inbox.truth,
            {(depot, day): orders for depot, day, orders in demand},
            {(depot, day): actual for depot, day, actual in scored},
            list(costs),
            figures,
            worse,
        )


@pytest.mark.parametrize("name", TABLES)
def test_both_months_end_with_the_same_tables(bad, good, name):
    without = [row for row in bad.tables[name] if bad.worse not in row]
    if name == "models":
        # Who was champion between is told by the role; in the end it is the same one.
        assert len(bad.tables[name]) == len(without) + 1
    assert without == good.tables[name]
    assert without or name in {"orders", "quarantine"}


def test_what_is_known_in_the_end_is_what_the_files_said_last(bad, good):
    closed = {
        (arrivals.CLOSED_DEPOT, origin_of(night)) for night in arrivals.CLOSED_DAYS
    }
    for each in (bad, good):
        open_days = {
            key: value for key, value in each.truth.items() if key not in closed
        }
        demand = {key: value for key, value in each.demand.items() if key not in closed}
        assert demand == open_days


def test_forecasts_are_scored_by_the_counts_that_hold(bad):
    assert len(bad.scored) > NIGHTS * len(arrivals.DEPOTS) / 2
    assert bad.scored == {key: bad.truth[key] for key in bad.scored}
    corrected = (arrivals.CORRECTED_DEPOT, origin_of(arrivals.CORRECTED_DAY))
    assert corrected in bad.scored
    assert not any(
        (arrivals.CLOSED_DEPOT, origin_of(night)) in bad.scored
        for night in arrivals.CLOSED_DAYS
    )


def test_nights_after_the_first_find_everything_compiled(bad):
    first, *others = bad.costs
    assert first["compilations"] > 0
    hits = sum(cost["cache_hits"] for cost in others)
    lookups = hits + sum(cost["cache_misses"] for cost in others)
    assert hits / lookups >= 0.95


def test_memory_stays_level(bad, good):
    """Of the process that ran a whole month, and of each night's own."""
    assert good.figures.memory[-1] < MOST_GROWN * good.figures.memory[9]
    peaks = own_peaks(bad)
    assert max(peaks[5:]) < MOST_GROWN * max(peaks[:5])


def test_disk_stays_level(bad, good):
    """Models are kept, as many bytes a night as the night before; nothing else is."""
    for each in (bad, good):
        grown = each.figures.grown("artefacts", WORSE_NIGHT + 1)
        assert max(grown) < MOST_GROWN * min(grown)
        assert each.figures.disk[-1]["checkpoints"] == 0
        compiled = [sizes["compiled"] for sizes in each.figures.disk]
        assert compiled[-1] <= MOST_GROWN * compiled[10]


def own_peaks(bad):
    """The most that each night held which ran in a process of its own."""
    return [bad.costs[night]["host_memory_peak_bytes"] for night in sorted(IN_CHILDREN)]


@pytest.mark.usefixtures("bad")
def test_a_night_that_is_done_stays_done(engine, good, tmp_path):
    with pytest.raises(NothingToDoError, match="is done"):
        run_here(engine, Settings(home=tmp_path), NIGHTS - 1)
