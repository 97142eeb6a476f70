"""Speed of loading orders, beside a bare COPY of the same rows into the same table.

    python -m tests.benchmarks.ingest [--rows N]

Everything in one run: COPY, a load of Parquet and one of CSV, each into an empty table; the
same CSV again; demand counted, counted again, and the older half of the orders dropped.
Each step has a process of its own, so that its memory is its own.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from pyarrow import csv as arrow_csv
from pyarrow import parquet as pq

from pipelines.cli.context import CommandContext, open_context
from pipelines.database.engine import open_engine
from pipelines.demand import counting
from pipelines.ingest.load import FileOptions, ingest
from pipelines.pruning import drop_old_orders
from tests.benchmarks.machine import stamp

START = datetime(2024, 1, 1)  # noqa: DTZ001 - wall-clock time, as files have it
N_DEPOTS = 1_000
N_DAYS = 365
END = (START + timedelta(days=N_DAYS)).replace(tzinfo=UTC)
MIB = 1 << 20
STEPS = ("copy", "parquet", "csv", "again", "demand", "recount", "prune")
ONTO_THE_LAST = ("again", "demand", "recount", "prune")


def main() -> None:
    """Writes the files, runs every step in a child, and prints their results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(_child(*args.child.split("@"), args.rows)))
        return
    with tempfile.TemporaryDirectory(prefix="harbor-bench-") as home:
        os.environ["HARBOR_HOME"] = home
        _in_child("files", home, args.rows)
        print(stamp())
        with open_context():  # keeps the database up between the steps
            results = {step: _in_child(step, home, args.rows) for step in STEPS}
    for step, each in results.items():
        share = results["copy"]["seconds"] / each["seconds"]
        print(
            f"{step + ':':<9}{each['seconds']:7.1f} s, {args.rows / each['seconds']:,.0f} "
            f"rows/s, {share:.2f} of COPY, {each['peak_mib']:,} MiB here and "
            f"{each['parser_mib']:,} MiB in the parser"
        )
    print(
        f"an order takes {results['csv']['bytes_a_row']} bytes, its key and index too"
    )


def _write_files(folder: Path, n_rows: int) -> None:
    """Orders in the order of their moments, with a few seconds between."""
    rng = np.random.default_rng(0)
    depot = rng.integers(N_DEPOTS, size=n_rows)
    second = np.sort(rng.integers(N_DAYS * 86_400, size=n_rows))
    moments = np.datetime64(START, "s") + second.astype("timedelta64[s]")
    table = pa.table(
        {
            "order_id": pa.array(np.char.add("order-", np.arange(n_rows).astype(str))),
            "depot_id": pa.array(np.char.add("D", depot.astype(str))),
            "ordered_at": pa.array(moments, pa.timestamp("s")),
        }
    )
    pq.write_table(table, folder / "orders.parquet")
    arrow_csv.write_csv(table, folder / "orders.csv")


def _in_child(step: str, home: str, n_rows: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.benchmarks.ingest"]
    command += ["--rows", str(n_rows), "--child", f"{step}@{home}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def _child(step: str, home: str, n_rows: int) -> dict[str, Any]:
    folder = Path(home)
    if step == "files":
        _write_files(folder, n_rows)
        return {}
    # Emptying a table, and writing past its rules, is for the owner alone.
    with open_context() as context, open_engine(context.settings) as owner:
        if step not in ONTO_THE_LAST:
            with owner.begin() as connection:
                connection.execute(sa.text("truncate orders, files cascade"))
        started = time.perf_counter()
        if step == "copy":
            _copy(owner, folder / "orders.csv")
        else:
            _take(step, context, folder)
        seconds = time.perf_counter() - started
        with context.engine.connect() as connection:
            held = connection.scalar(sa.text("select count(*) from orders"))
            taken = connection.scalar(
                sa.text("select pg_total_relation_size('orders')")
            )
        assert held == n_rows or step == "prune", held
    peaks = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    here, parser = (resource.getrusage(who).ru_maxrss * 1024 // MIB for who in peaks)
    size = round(taken / max(held, 1))
    return {
        "seconds": seconds, "peak_mib": here, "parser_mib": parser, "bytes_a_row": size,
    }  # fmt: skip


def _take(step: str, context: CommandContext, folder: Path) -> None:
    """One step of the program."""
    if step in ("demand", "recount"):
        counting.rebuild(context.engine, END)
    elif step == "prune":
        kept = context.settings.model_copy(update={"keep_orders_days": N_DAYS // 2})
        drop_old_orders(context.engine, kept, END)
    else:
        name = "orders.parquet" if step == "parquet" else "orders.csv"
        report = ingest(
            context.engine, [str(folder / name)], FileOptions(), context.settings,
            today=END.date(),
        )  # fmt: skip
        (file,) = report.files
        assert file.state == ("unchanged" if step == "again" else "loaded"), file


def _copy(engine: sa.Engine, path: Path) -> None:
    """The same rows into the same table: without checks, and without a ledger."""
    columns = "order_id, depot_id, ordered_local"
    with engine.begin() as connection:
        connection.execute(sa.text("alter table orders alter file_id set default 1"))
        driver: Any = connection.connection.driver_connection
        statement = f"copy orders ({columns}) from stdin (format csv, header)"
        with (
            path.open("rb") as file,
            driver.cursor() as cursor,
            cursor.copy(statement) as copy,
        ):
            while some := file.read(MIB):
                copy.write(some)
        connection.execute(sa.text("alter table orders alter file_id drop default"))


if __name__ == "__main__":
    main()
