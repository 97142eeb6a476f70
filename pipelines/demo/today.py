"""The running day of the invented fleet: its orders so far."""

from dataclasses import replace

import numpy as np
import pandas as pd

from pipelines.demand import counting
from pipelines.demo.depots import CITIES
from pipelines.demo.files import write_day
from pipelines.demo.fleet import invent, running_day
from pipelines.demo.stages import Advance, DemoContext
from pipelines.ingest.load import FileOptions, ingest
from pipelines.runs.ledger import recorded


def load_today(demo: DemoContext, advance: Advance) -> str:
    """Invents and loads today's orders so far, as a feed would during the day.

    Each depot's number is drawn around its expectation from `running_day`. If the demonstration
    is started again, it loads the orders placed since.
    """
    if demo.nights and demo.nights[-1] != demo.yesterday:
        return f"none: its last night was that of {demo.nights[-1]}"
    fleet = invent(demo.seed, demo.n_depots, demo.n_days, demo.yesterday)
    today = pd.date_range(fleet.days[-1] + pd.Timedelta(days=1), periods=1)
    rng = np.random.default_rng([demo.seed, today[0].toordinal()])
    counts_dt = rng.poisson(running_day(fleet)[:, None])
    folder = demo.folder / "today"
    folder.mkdir(exist_ok=True)
    running = replace(fleet, days=today, counts_dt=counts_dt)
    indices = fleet.depots["city_index"].unique()
    paths = [
        path
        for index in indices
        if (path := write_day(running, CITIES[index], index, folder, demo.now))
    ]
    if not paths:
        return "nothing has come yet"
    with recorded(demo.engine, "ingest") as run:
        files = list(map(str, paths))
        options = FileOptions(force=True)
        report = ingest(demo.engine, files, options, demo.settings, is_invented=True)
        counting.rebuild(run.engine, demo.now)
    advance(1, 1)
    return f"{sum(file.counts.accepted for file in report.files):,} orders of {today[0]:%Y-%m-%d}"
