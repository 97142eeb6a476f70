"""The Spark job counts the same orders as Postgres does, down to equality."""

import json
import random
import shutil
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
import sqlalchemy as sa
from pyarrow import parquet as pq

from pipelines.demand.counting import rebuild
from pipelines.ingest.load import FileOptions, ingest
from pipelines.settings import Settings
from tests.conftest import empty_tables
from tests.deploy.tools import DEPLOY, ROOT, run, skip_or_fail

pytestmark = pytest.mark.db

PYTHON = ROOT / ".venv-spark" / "bin" / "python"
# Runs the job for each line of words, in one Java; prints how each ended.
RUN_ALL = """
import json, sys
import daily_demand
ends = []
for words in json.loads(sys.argv[1]):
    try:
        ends.append(daily_demand.main(words))
    except (SystemExit, Exception) as error:
        ends.append(str(error))
print(json.dumps(ends))
"""
# Small data repay neither generated code nor Java's second compiler.
ON_A_SMALL_MACHINE = (
    "--master local[2] --driver-java-options "
    # Compiles quickly; with the small cache that goes with it, it would stop compiling.
    "'-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m' "
    "--conf spark.ui.enabled=false --conf spark.log.level=ERROR "
    "--conf spark.sql.shuffle.partitions=2 --conf spark.sql.codegen.wholeStage=false "
    "--conf spark.driver.bindAddress=127.0.0.1 --conf spark.driver.host=127.0.0.1 "
    "pyspark-shell"
)

THROUGH = date(2024, 11, 9)
KINDS = ("text", "utc", "local")
# All zones of the fleet are on the next day.
NOW = datetime(2024, 11, 10, 8, tzinfo=UTC)
# Clocks change in March and April, and in September, October and November.
SEASONS = ((date(2024, 3, 1), 45), (date(2024, 9, 23), 50))
ZONES = {
    "ams": "Europe/Amsterdam",
    "nyc": "America/New_York",
    "akl": "Pacific/Auckland",
    "ldh": "Australia/Lord_Howe",
    "ccu": "Asia/Kolkata",
    "own": "Europe/Lisbon",
    "few": "America/Sao_Paulo",
    "new": "Europe/Amsterdam",
    "gva": "Europe/Zurich",
    "osl": "Europe/Oslo",
    "hel": "Europe/Helsinki",
    "gap": "Europe/Madrid",
}
RATES = {
    "ams": 9, "nyc": 7, "akl": 1, "ldh": 0.6, "ccu": 3, "own": 1.5, "few": 0.5,
    "gva": 1, "osl": 1.5, "hel": 4,
}  # fmt: skip
OPENED = {"akl": date(2024, 2, 20), "new": date(2024, 9, 1)}
CLOSED = {"nyc": date(2024, 10, 20), "ldh": date(2024, 4, 5)}
DEPOTS = pa.table(
    {
        "depot_id": list(ZONES),
        "name": list(ZONES),
        "city": ["Harbor"] * len(ZONES),
        "timezone": list(ZONES.values()),
        "country": ["NL"] * len(ZONES),
        "opened_on": [OPENED.get(depot) for depot in ZONES],
        "closed_on": [CLOSED.get(depot) for depot in ZONES],
        "closed_weekdays": ["sun"] * len(ZONES),
    }
)
BAD_TEXTS = (
    "tomorrow", "2024-13-01T10:00", "2024-03-01T10:00+19:00", "1980-01-01", "2024-03-01T24:00",
    "2024-03-01Z", "2024-03-0112", "2024-3-1", " ", None, "2199-01-01T00:00", "2024-03-01T10:0",
)  # fmt: skip


def written(moment, zone, form):
    """A moment as text, as a partner writes it."""
    local = moment.astimezone(zone)
    forms = (
        local.replace(tzinfo=None).isoformat(),
        local.isoformat(),
        moment.isoformat(" ").replace("+00:00", "Z"),
        moment.strftime("%Y-%m-%dT%H:%M:%S.1234567 +0000"),
        (moment - timedelta(hours=3)).strftime("%Y-%m-%d %H:%M-03"),
        f" {local:%Y-%m-%d %H} ",
        f"{local:%Y-%m-%d}",
    )
    return forms[form % len(forms)]


def days_of(numbers):
    """Orders by day and depot: (order_id, depot, moment)."""
    for start, n_days in SEASONS:
        for day in (start + timedelta(days=step) for step in range(n_days)):
            for depot, rate in RATES.items():
                if depot == "nyc" and day.isoweekday() == 7 and numbers.random() < 0.7:
                    continue
                if day == THROUGH and depot not in ("ccu", "hel"):
                    continue  # on the last day a busy depot's silence is no 0 yet
                for number in range(round(numbers.expovariate(1 / rate))):
                    moment = datetime(day.year, day.month, day.day, tzinfo=UTC)
                    moment += timedelta(seconds=numbers.randrange(86_400))
                    yield day, depot, (f"{day:%j}-{depot}-{number}", depot, moment)
    # A new busy depot whose file of the last day is lost; the day after has just begun.
    for ago, n_orders in ((3, 9), (2, 9), (1, 9), (-1, 2)):
        day = THROUGH - timedelta(days=ago)
        moment = datetime(day.year, day.month, day.day, 4, tzinfo=UTC)
        for number in range(n_orders):
            yield day, "gap", (f"{day:%j}-gap-{number}", "gap", moment)


def orders_in_files(numbers):
    """Files by name, in the order in which they came; later ones correct earlier ones."""
    files, before = {}, []
    for day, depot, order in days_of(numbers):
        alone = depot in ("own", "few", "gap") or (depot == "ccu" and day.month > 9)
        # Names whose order changes where they are encoded.
        name = f"{day} {depot}" if alone else f"{day}+é fleet"
        rows = files.setdefault(name, [])
        rows.append(order)
        if before and numbers.random() < 0.1:
            rows.append(corrected(numbers.choice(before[-200:]), numbers))
        if numbers.random() < 0.05:
            rows += [corrected(order, numbers), order]
        before.append(order)
    # A day on which nobody's feed spoke.
    del files["2024-10-02+é fleet"]
    return files


def corrected(order, numbers):
    """The same order at another depot, at another moment, or just once more."""
    order_id, depot, moment = order
    kind = numbers.randrange(3)
    if kind == 0:
        depot = numbers.choice(["ams", "ccu", "new"])
    if kind == 1:
        moment += timedelta(hours=numbers.randrange(-20, 20))
    return order_id, depot, moment


def moments_of(kind, rows):
    """The column ordered_at as text, as moments in UTC, or as times without a zone."""
    moments = [(moment, ZoneInfo(ZONES[depot])) for _, depot, moment in rows]
    if kind == "utc":
        return pa.array([moment for moment, _ in moments], pa.timestamp("us", "UTC"))
    local = [moment.astimezone(zone).replace(tzinfo=None) for moment, zone in moments]
    if kind == "local":
        return pa.array(local, pa.timestamp("us"))
    forms = [sum(order_id.encode()) for order_id, _, _ in rows]
    return pa.array(
        [written(*moment, form) for moment, form in zip(moments, forms, strict=True)]
    )


def write_orders(folder, kind):
    """Writes the fleet's files with moments of a kind: text, utc or local."""
    files = orders_in_files(random.Random(20240331))
    for at, (name, rows) in enumerate(sorted(files.items())):
        order_ids, depot_ids, _ = zip(*rows, strict=True)
        table = pa.table(
            {
                "depot_id": [f" {depot_id}" for depot_id in depot_ids],
                "order_id": order_ids,
                "ordered_at": moments_of(kind, rows),
                "price": [1.5] * len(rows),
            }
        )
        if at == 20:
            table = pa.concat_tables([table, bad_rows(table)])
        path = folder / name[:7] / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)


def bad_rows(table):
    """Rows for the quarantine; with the id of an order that they must not replace."""
    good = table.slice(0, 1).to_pylist()[0]
    bad = [good | {"order_id": "\t"}, good | {"order_id": "x" * 201}]
    bad += [good | {"depot_id": None}, good | {"depot_id": "a\0"}]
    if table.schema.field("ordered_at").type == pa.string():
        bad += [good | {"ordered_at": text} for text in BAD_TEXTS]
    blank = dict.fromkeys(good)
    return pa.Table.from_pylist([*bad, blank], table.schema)


def refused(folder):
    """Loads that the job refuses: a part of the sentence, and their words."""
    depots, twice, mars = (
        folder / name for name in ("ams.csv", "twice.csv", "mars.csv")
    )
    depots.write_text("depot_id,timezone\nams,Europe/Amsterdam\n")
    twice.write_text("depot_id,timezone\nams,Europe/Amsterdam\nams,Europe/Paris\n")
    mars.write_text("depot_id,timezone\nams,Mars/Olympus\n")
    row = {"order_id": "1", "depot_id": "nyc", "ordered_at": NOW}
    lacking = {"order_id": "1", "ordered_at": NOW}
    for name, rows in {
        "plain": [row],
        "lacking": [lacking],
        "mixed": [row, row | {"ordered_at": "2024-11-10"}],
    }.items():
        (folder / name).mkdir()
        for number, one in enumerate(rows):
            path = folder / name / f"{number}.parquet"
            pq.write_table(pa.Table.from_pylist([one]), path)
    cases = [
        ("has no column depot_id (found: order_id, ordered_at)", "lacking", depots),
        ("CANNOT_MERGE_SCHEMAS", "mixed", depots),
        ("has depot ams more than once. Leave one row", "plain", twice),
        ("Mars/Olympus", "plain", mars),
        (
            "Depot nyc has orders, but the depots do not say its time zone",
            "plain",
            depots,
        ),
        ("2199-01-01 is not over in Europe/Amsterdam", "plain", depots, "2199-01-01"),
    ]
    for at, (sentence, orders, depots, *through) in enumerate(cases):
        words = [
            folder / orders,
            depots,
            folder / f"daily{at}",
            folder / f"rejected{at}",
        ]
        yield sentence, [*words, "--through", *(through or [THROUGH])]


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """All runs of the job, in one Java.

    Returns:
      A folder with orders, counts and rejected rows of each kind; the line printed for each
      kind; sentences expected, and those that were said.
    """
    if not PYTHON.exists():
        skip_or_fail("needs PySpark: make spark")
    if shutil.which("java") is None:
        skip_or_fail("needs Java 17 or later: apt-get install default-jre-headless")
    folder = tmp_path_factory.mktemp("spark")
    pq.write_table(DEPOTS, folder / "depots.parquet")
    lines = []
    for kind in KINDS:
        write_orders(folder / kind / "orders", kind)
        places = ["depots.parquet", f"{kind}/daily", f"{kind}/rejected"]
        words = [folder / place for place in (f"{kind}/orders", *places)]
        lines.append([*words, "--through", THROUGH])
    # One order at a depot that only the setting gives a zone.
    words = [
        folder / place for place in ("plain", "ams.csv", "zoned", "zoned_rejected")
    ]
    lines.append([*words, "--through", NOW.date(), "--timezone", "America/New_York"])
    sentences, refusals = zip(*refused(folder), strict=True)
    done = run(
        *(PYTHON, "-c", RUN_ALL, json.dumps([*lines, *refusals], default=str)),
        PYTHONPATH=DEPLOY / "spark",
        PYSPARK_SUBMIT_ARGS=ON_A_SMALL_MACHINE,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    *lines_printed, ends = done.stdout.splitlines()
    ends = json.loads(ends)
    # Java prints warnings of its own beside them.
    printed = [line for line in lines_printed if "depot-days through" in line]
    assert ends[: len(lines)] == [None] * len(lines), ends
    said = list(zip(sentences, ends[len(lines) :], strict=True))
    return folder, dict(zip(KINDS, printed, strict=False)), said


def load(engine, tmp_path, *paths):
    settings = Settings(home=tmp_path / "home", max_rejected_ratio=1)
    report = ingest(engine, [str(path) for path in paths], FileOptions(), settings)
    states = {file.state for file in report.files}
    assert states == {"loaded"}, [
        file for file in report.files if file.state != "loaded"
    ]


def demand(engine):
    rebuild(engine, NOW)
    with engine.connect() as connection:
        rows = connection.execute(
            sa.text(
                "select depot_id, service_on, orders from demand_versions "
                "where superseded_at is null and orders is not null order by 1, 2"
            )
        )
        return [tuple(row) for row in rows]


@pytest.fixture(scope="module")
def ours(counted, engine, tmp_path_factory):
    """Demand as Postgres counts it and number of quarantined rows, of each kind."""
    folder, found = counted[0], {}
    for kind in KINDS:
        paths = folder / "depots.parquet", folder / kind / "orders"
        load(engine, tmp_path_factory.mktemp(kind), *paths)
        with engine.connect() as connection:
            quarantined = connection.scalar(sa.text("select count(*) from quarantine"))
        found[kind] = demand(engine), quarantined
        empty_tables(engine)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_spark_counts_as_postgres_does(counted, ours, kind):
    folder, printed, _ = counted
    expected, quarantined = ours[kind]
    table = pq.read_table(folder / kind / "daily").sort_by(
        [("depot_id", "ascending"), ("date", "ascending")]
    )
    theirs = list(zip(*table.to_pydict().values(), strict=True))
    assert theirs == expected
    # The rules of no orders are at work on both sides: some days are 0, some are missing.
    n_zeros = sum(orders == 0 for _, _, orders in expected)
    assert n_zeros > 50
    assert len(expected) < len(ZONES) * 90
    rejected = pq.read_table(folder / kind / "rejected")
    assert len(rejected) == quarantined >= 4
    assert None not in rejected["reason"].to_pylist()
    assert f"{quarantined:,} rows of orders could not be read" in printed[kind]


def test_its_file_is_loaded_as_daily_counts_to_the_same_demand(
    counted, ours, clean_engine, tmp_path
):
    folder, *_ = counted
    load(clean_engine, tmp_path, folder / "depots.parquet", folder / "utc" / "daily")
    assert demand(clean_engine) == ours["utc"][0]


def test_what_it_refuses_it_says_in_a_sentence(counted):
    for expected, said in counted[2]:
        assert expected in said


def test_a_depot_without_a_row_has_the_zone_of_the_setting(counted):
    assert pq.read_table(counted[0] / "zoned").to_pylist() == [
        {"depot_id": "nyc", "date": date(2024, 11, 10), "orders": 1}
    ]
