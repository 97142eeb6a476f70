"""Whatever happens to a night, wherever: nothing is half there, and the next one heals it.

The cells of `QUICK` run with every test; `pytest -m faults` runs the whole matrix.
"""

from datetime import date, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from pipelines.database import embedded
from pipelines.database.engine import connect
from pipelines.forecasting import forecast
from pipelines.schema import files, models, orders, runs
from tests.conftest import empty_tables
from tests.pipelines.faults import faults
from tests.pipelines.faults.faults import FAULTS, STATUS, tables
from tests.pipelines.faults.victim import NOWHERE, POINTS, TRAINS

START = date(2024, 1, 1)
DAYS = 90
LAST = START + timedelta(days=DAYS - 1)
SHAPE = (50, 55, 52, 60, 70, 35, 25)
NIGHT = ("nightly", "--origin", str(LAST))
N_ORDERS = 120
DISK_MB = 160
QUICK = {
    ("file claimed", "SIGTERM"),
    ("mid-COPY", "sessions ended"),
    ("before commit", "Postgres restarted"),
    ("after commit", "SIGKILL"),
    ("artefact not renamed", "SIGKILL"),
    ("renamed, not recorded", "SIGTERM"),
    ("mid-forecast", "sessions ended"),
}


def fill_inbox(home: Path) -> None:
    """Three files: depots, orders with one bad row, and counts."""
    inbox = home / "inbox"
    inbox.mkdir(parents=True)
    depots = ["A0,A0,Delft,Europe/Amsterdam,NL,", "A1,A1,Delft,Europe/Amsterdam,NL,"]
    depots.append("B0,B0,Ghent,Europe/Brussels,BE,")
    _write(inbox / "a.csv", "depot_id,name,city,timezone,country,subdivision", depots)
    moments = [LAST - timedelta(days=number // 3) for number in range(N_ORDERS)]
    placed = [f"o{number},B0,{on}T12:00:00" for number, on in enumerate(moments)]
    _write(inbox / "b.csv", "order_id,depot_id,ordered_at", [*placed, "o,B0,never"])
    counts = [
        f"A{depot},{START + timedelta(days=step)},{SHAPE[step % 7] * (depot + 1) + step * 7919 % 11}"
        for depot in range(2)
        for step in range(DAYS)
    ]
    _write(inbox / "c.csv", "depot_id,date,orders", counts)


def _write(path: Path, header: str, rows: list[str]) -> None:
    path.write_text("\n".join([header, *rows, ""]))


@pytest.fixture(scope="module")
def unbroken(engine, database_url, tmp_path_factory):
    """Tables after a night that nothing happened to; made once for each way to train."""
    known = {}

    def of(point):
        trains = point == TRAINS
        if trains not in known:
            home = tmp_path_factory.mktemp("unbroken")
            fill_inbox(home)
            whole_night(trains, home, database_url)
            known[trains] = tables(engine)
            empty_tables(engine)
        return known[trains]

    return of


def whole_night(trains, home, url):
    """A night that nothing happens to; only one that trains needs a process."""
    if trains:
        status, said = faults.start(f"{NOWHERE}!", home, url, *NIGHT).end()
    else:
        done = faults.unharmed(home, url, *NIGHT)
        status, said = done.returncode, done.stderr
    assert status == 0, said


@pytest.mark.parametrize(
    ("point", "fault"),
    [
        pytest.param(
            point,
            fault,
            id=f"{point}: {fault}",
            marks=[] if (point, fault) in QUICK else [pytest.mark.faults],
        )
        for point in POINTS
        for fault in FAULTS
    ],
)
def test_the_next_night_heals(
    point, fault, clean_engine, database_url, tmp_path, unbroken
):
    expected = unbroken(point)
    fill_inbox(tmp_path)
    victim = faults.start(point, tmp_path, database_url, *NIGHT)
    with victim.process:
        victim.reach_point()
        FAULTS[fault](victim)
        status, said = victim.end()
    clean_engine.dispose()
    assert status == STATUS[fault], said
    # Orbax logs where it was when it was stopped.
    assert point == TRAINS or "Traceback" not in said
    require_whole(clean_engine, tmp_path)

    whole_night(point == TRAINS, tmp_path, database_url)
    require_whole(clean_engine, tmp_path)
    found = tables(clean_engine)
    for name, rows in expected.items():
        assert found[name] == rows, name
    require_healed(clean_engine, tmp_path)


@pytest.mark.faults
@pytest.mark.parametrize("point", POINTS)
def test_the_night_after_a_full_disk_heals(point, unbroken):
    """Database, artefacts and checkpoints all lie on the disk that is full."""
    expected = unbroken(point)
    nowhere = f"{NOWHERE}!" if point == TRAINS else NOWHERE
    with faults.small_disk(DISK_MB) as home:
        fill_inbox(home)
        victim = faults.start(point, home, None, *NIGHT)
        with victim.process:
            victim.reach_point()
            filler = faults.fill(home)
            victim.go_on()
            status, said = victim.end()
        assert status == 1, said
        # Orbax logs what its own threads met.
        assert point == TRAINS or "Traceback" not in said
        filler.unlink()
        status, said = faults.start(nowhere, home, None, *NIGHT).end()
        assert status == 0, said
        with embedded.running(home) as url:
            engine = connect(url)
            require_whole(engine, home)
            assert tables(engine) == expected
            require_healed(engine, home)
            engine.dispose()


def require_whole(engine, home):
    """Nothing is half there: rows are as the ledger counts them, models are their files."""
    with engine.connect() as connection:
        counted = sa.select(sa.func.coalesce(sa.func.sum(files.c.accepted), 0))
        accepted = connection.scalar(counted.where(files.c.kind == "orders"))
        there = connection.scalar(sa.select(sa.func.count()).select_from(orders))
        known = [dict(row) for row in connection.execute(sa.select(models)).mappings()]
    assert there == accepted
    assert there in (0, N_ORDERS)
    assert [model["role"] for model in known].count("champion") <= 1
    for model in known:
        forecast.load_recorded(home / "artefacts", model)


def require_healed(engine, home):
    """One champion, no run that never ends, no training half done."""
    with engine.connect() as connection:
        roles = list(connection.scalars(sa.select(models.c.role)))
        ledger = sa.select(runs.c.state, runs.c.error).order_by(runs.c.run_id)
        states = [tuple(row) for row in connection.execute(ledger)]
    assert sorted(roles) == ["champion", "evaluation"]
    assert {state for state, _ in states} <= {"done", "failed"}
    assert all(error for state, error in states if state == "failed")
    assert not list((home / "checkpoints").glob("*"))
