"""The lab: what is delivered beside its baseline and its peers, on many cut histories.

Every real fleet is cut to 20 depots and to the last days before several cut-offs over a year;
in every such cell each model forecasts four weeks, a week at a time. Defaults are chosen by
its table, never on one month.

    make lab                  the quick form, under 15 minutes on two cores
    make lab LAB="--whole"    six cut-offs, and LightGBM too, for decisions: hours

What a model forecast in a cell is kept under var/benchmarks/cutoffs, so that a second run
computes only the models of --again.
"""

import argparse
import hashlib
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from forecaster import backtest
from forecaster.backtest import BacktestForecasts, HoldoutSplit
from forecaster.data.panel import Panel
from forecaster.inference.totals import FLEET
from tests.benchmarks import bands
from tests.benchmarks.machine import stamp
from tests.benchmarks.peers import Forecasts, naive_forecast, with_actuals
from tests.benchmarks.peers.harbor_fleet import (
    forecast_origins,
    quantiles_of,
    totals_of,
    train_by_default,
    within_intervals,
)
from tests.benchmarks.real_fleets import real_fleets
from tests.benchmarks.stored import Run, stored_or_new

fleets = cache(real_fleets)
HOLDOUT_DAYS, HORIZON = 28, 7
LENGTHS = (60, 150, 285, 548, 9999)
"""Days of history; 9999 is all there is."""
DEPOTS = (20,)
"""Depots of a cell, drawn by chance; 9999 are all."""
CUTOFFS = 6
SINGLE = ("auto_ets", "theta", "median4", "seasonal_naive")
MEDIAN = "their median"
STATISTICAL = (*SINGLE, MEDIAN)
LIGHT_GBM_DAYS = 365
QUICK_CUTOFFS = 1
RESAMPLES = 2000
"""Draws of cells for the intervals of means."""


@dataclass(frozen=True)
class Cell:
    """One history: a data set cut to some depots and to the last days before a cut-off.

    Attributes:
      name: Data set.
      n_depots: Depots of it, drawn by chance; at most all.
      length: Days of history.
      cutoff: Number of the cut-off, 0 is the last.
      of: Number of cut-offs, spread over the last year of the data set.
    """

    name: str
    n_depots: int
    length: int
    cutoff: int
    of: int

    @property
    def key(self) -> str:
        """Name of the cell's files."""
        return f"{self.name}-{self.n_depots}-{self.length}-{self.cutoff}of{self.of}"


def cut(panel: Panel, cell: Cell) -> tuple[Panel, HoldoutSplit] | None:
    """The panel of a cell, holdout included, and its split; None where the data set is short."""
    spread = min(364, panel.n_steps - HOLDOUT_DAYS - 60)
    ago = cell.cutoff * spread // max(cell.of - 1, 1)
    end = panel.n_steps - ago
    first = end - HOLDOUT_DAYS - cell.length
    if first < 0 and cell.length < LENGTHS[-1]:
        return None
    whole = panel.as_of(panel.day(end - 1)).last(HOLDOUT_DAYS + min(cell.length, end))
    known_d = np.isfinite(whole.demand_dt[:, :-HOLDOUT_DAYS]).sum(axis=1) >= 14
    rows = np.flatnonzero(known_d)
    if cell.n_depots < len(rows):
        seed = zlib.crc32(f"{cell.name} {cell.n_depots} {cell.cutoff}".encode())
        rows = np.sort(
            np.random.default_rng(seed).choice(rows, cell.n_depots, replace=False)
        )
    some = whole.of_depots(rows)
    through = some.day(some.n_steps - 1 - HOLDOUT_DAYS)
    origins = tuple(
        through + timedelta(days=days) for days in range(0, HOLDOUT_DAYS, HORIZON)
    )
    return some, HoldoutSplit(through, origins, HORIZON, HOLDOUT_DAYS, HORIZON)


@dataclass(frozen=True)
class ModelForecasts:
    """Forecasts of a model in a cell, with the totals it gives, if it does.

    Attributes:
      forecasts: Of depots.
      total_names: Cities, and "" for the fleet.
      total_onqh: Quantiles of totals, [origin, name, 3, horizon].
    """

    forecasts: Forecasts
    total_names: tuple[str, ...] = ()
    total_onqh: np.ndarray | None = None


Model = Callable[[Panel, HoldoutSplit], dict[str, ModelForecasts]]


def statistical(panel: Panel, split: HoldoutSplit) -> dict[str, ModelForecasts]:
    """AutoETS and Theta on log counts, refitted at each origin."""
    from tests.benchmarks.peers.statistical import fit_and_forecast, models

    forecasts = {}
    for name, model in models().items():
        parts = [
            fit_and_forecast(model, panel.as_of(origin), split.horizon)
            for origin in split.origins
        ]
        stacked = (np.stack([part[q] for part in parts]) for q in range(3))
        forecasts[name] = ModelForecasts(Forecasts(*stacked))
    return forecasts


def simple(panel: Panel, split: HoldoutSplit) -> dict[str, ModelForecasts]:
    """Seasonal naive and the median of four same weekdays."""
    names = ("seasonal_naive", "median4")
    return {name: ModelForecasts(naive_forecast(name)(panel, split)) for name in names}


def boosted(panel: Panel, split: HoldoutSplit) -> dict[str, ModelForecasts]:
    """A tuned LightGBM, where a year of history is there to learn from."""
    if panel.step(split.trained_through) + 1 < LIGHT_GBM_DAYS:
        return {}
    from tests.benchmarks.peers.boosted import light_gbm

    return {"light_gbm": ModelForecasts(light_gbm(panel, split))}


def prophet(panel: Panel, split: HoldoutSplit) -> dict[str, ModelForecasts]:
    """A tuned Prophet, run only where it is named."""
    from tests.benchmarks.peers import prophet_peer

    return {"prophet": ModelForecasts(prophet_peer.prophet(panel, split))}


def delivered(panel: Panel, split: HoldoutSplit) -> dict[str, ModelForecasts]:
    """Harbor Fleet with its defaults, and the baseline that its network corrects."""
    learnt = train_by_default(panel, split).production
    without_network = replace(learnt, network_share=0.0)
    forecasts = {}
    for name, model in (("delivered", learnt), ("baseline", without_network)):
        by_origin = forecast_origins(model, panel, split)
        forecasts[name] = ModelForecasts(quantiles_of(by_origin), *totals_of(by_origin))
    return forecasts


MODELS: dict[str, Model] = {
    "statistical": statistical,
    "simple": simple,
    "boosted": boosted,
    "prophet": prophet,
    "delivered": delivered,
}


def measure(
    cell: Cell, folder: Path, keep: Path, models: Sequence[str], again: Sequence[str]
) -> list[dict[str, Any]]:
    """Scores of every model in a cell, over the depot-days that all of them forecast."""
    cell_data = cut(fleets(folder)[cell.name], cell)
    if cell_data is None:
        return []
    panel, split = cell_data
    forecasts: dict[str, ModelForecasts] = {}
    for name in models:
        forecasts |= _kept(
            name, panel, split, keep / f"{cell.key}-{name}.npz", name in again
        )
    if set(SINGLE) <= set(forecasts):
        # The best simple peer of published comparisons: Petropoulos and Svetunkov, A simple
        # combination of univariate models, 2020.
        singles = [forecasts[name].forecasts for name in SINGLE]
        middle = Forecasts(
            *(np.median(each, axis=0) for each in zip(*singles, strict=True))
        )
        forecasts[MEDIAN] = ModelForecasts(middle)
    backtests = {
        name: with_actuals(panel, split, each.forecasts)
        for name, each in forecasts.items()
    }
    scale_d = backtest.mase_scale(panel, split.trained_through)
    rows = []
    for name, scored in backtest.score(backtests, scale_d).items():
        scores = {score: getattr(scored, score) for score in ("mape", "wape", "bias")}
        scores["depots_in"] = scored.coverage80
        scores |= total_scores(panel, backtests[name], forecasts[name])
        if name == "delivered":
            scores["poisson_floor"] = poisson_floor(backtests[name])
            scores |= bands.band_counts(panel, split, backtests[name], forecasts[name])
        rows.append(asdict(cell) | {"model": name} | scores)
    return rows


def poisson_floor(scored: BacktestForecasts) -> float:
    """MAPE of one who knows each day's mean, were counts drawn by chance alone.

    The means are taken to be the forecasts; 100 draws with a fixed seed.
    """
    known = np.isfinite(scored.actual_odh) & np.isfinite(scored.point_odh)
    mean_r = scored.point_odh[known]
    drawn_kr = np.random.default_rng(0).poisson(mean_r, (100, len(mean_r)))
    missed_kr = np.abs(drawn_kr - mean_r) / np.maximum(drawn_kr, 1)
    return float(missed_kr[drawn_kr > 0].mean())


def total_scores(
    panel: Panel, scored: BacktestForecasts, forecasts: ModelForecasts
) -> dict[str, float]:
    """Share of the totals within their intervals, and the bias of the fleet's medians."""
    if forecasts.total_onqh is None:
        return {}
    actual_odh = np.where(
        np.isfinite(scored.actual_odh), scored.actual_odh, scored.point_odh
    )
    inside = within_intervals(
        panel.cities, actual_odh, forecasts.total_names, forecasts.total_onqh
    )
    fleet = forecasts.total_names.index(FLEET)
    ordered = actual_odh.sum()
    over = (forecasts.total_onqh[:, fleet, 1].sum() - ordered) / ordered
    return {f"{part}_in": share for part, share in inside.items()} | {
        "fleet_bias": 100 * float(over)
    }


def _kept(
    name: str, panel: Panel, split: HoldoutSplit, path: Path, again: bool
) -> dict[str, ModelForecasts]:
    """Runs a model, or reads what it forecast in this cell of the same data."""
    digest = hashlib.sha256(np.ascontiguousarray(panel.demand_dt).tobytes()).hexdigest()

    def run() -> Run:
        forecasts = MODELS[name](panel, split)
        arrays: dict[str, np.ndarray] = {}
        for each, part in forecasts.items():
            arrays |= {f"{each}-{q}": v for q, v in part.forecasts._asdict().items()}
            if part.total_onqh is not None:
                arrays[f"{each}-totals"] = part.total_onqh
        return arrays, {each: part.total_names for each, part in forecasts.items()}

    arrays, names = stored_or_new(path, digest, again, run)
    return {
        each: ModelForecasts(
            Forecasts(*(arrays[f"{each}-{part}"] for part in Forecasts._fields)),
            tuple(names[each]),
            arrays.get(f"{each}-totals"),
        )
        for each in names
    }


def cells(
    names: Iterable[str],
    lengths: Sequence[int],
    depots: Sequence[int],
    cutoffs: int,
) -> list[Cell]:
    """Every combination, the short ones first."""
    return [
        Cell(name, n_depots, length, cutoff, CUTOFFS)
        for length in sorted(lengths)
        for n_depots in depots
        for name in names
        for cutoff in _spread(cutoffs)
    ]


def _spread(cutoffs: int) -> list[int]:
    """Numbers of so many of the cut-offs, evenly spread over the year."""
    return [number * CUTOFFS // cutoffs for number in range(cutoffs)]


def report(rows: pd.DataFrame, model: str = "delivered") -> str:
    """The tables: by length and by data set, beside the baseline and the best peer."""
    wide = rows.pivot_table(
        index=["name", "n_depots", "length", "cutoff"],
        columns="model",
        values=["mape", "wape", "bias"],
    )
    table = pd.DataFrame(index=wide.index)
    for score in ("mape", "wape"):
        own = wide[score][model]
        peers = [name for name in STATISTICAL if name in wide[score]]
        table[f"{score} / peer"] = own / wide[score][peers].min(axis=1)
        for name, other in (
            ("base", "baseline"), ("LightGBM", "light_gbm"), ("Prophet", "prophet"),
        ):  # fmt: skip
            if other in wide[score] and model != other:
                table[f"{score} / {name}"] = own / wide[score][other]
        table[score] = own
    table["bias"] = wide["bias"][model]
    own_rows = rows[rows["model"] == model].set_index(wide.index.names)
    for part in ("fleet_bias", "depots_in", "cities_in", "fleet_in", "poisson_floor"):
        if part in own_rows:
            table[part] = own_rows[part]
    parts = [_means(table.reset_index(), by) for by in ("length", "name")]
    worst = table["mape / peer"].nlargest(8)
    parts.append("80 % of resampled cells lie in:\n" + _intervals(table).to_string())
    parts.append("worst cells against the best peer:\n" + worst.to_string())
    if "mape / base" in table:
        lost = (table["mape / base"] > 1.0).mean()
        parts.append(f"cells lost to the baseline: {lost:.2f}")
    return "\n\n".join(parts)


def _intervals(table: pd.DataFrame) -> pd.DataFrame:
    """Bounds of the geometric means of each length, cells drawn with replacement."""
    rng = np.random.default_rng(0)
    rows = {}
    for length, group in table.groupby("length"):
        rows[length] = {
            column: _interval(np.log(group[column].dropna().to_numpy()), rng)
            for column in table.columns
            if "/" in column
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def _interval(log: np.ndarray, rng: np.random.Generator) -> str:
    if len(log) < 2:
        return "–"
    means = log[rng.integers(len(log), size=(RESAMPLES, len(log)))].mean(axis=1)
    low, high = np.exp(np.quantile(means, (0.1, 0.9)))
    return f"{low:.3f} to {high:.3f}"


def _means(table: pd.DataFrame, by: str) -> str:
    def of_group(group: pd.DataFrame) -> pd.Series:
        means = {}
        for column in group.columns.drop(["name", "n_depots", "length", "cutoff"]):
            value = group[column].dropna()
            if column in ("mape", "wape") or "/" in column:
                means[column] = np.exp(np.log(value).mean())
            else:
                means[column] = value.mean()
            if column == "mape / peer":
                means["worst"] = value.max()
        means["cells"] = len(group)
        return pd.Series(means)

    rows = [of_group(group).rename(key) for key, group in table.groupby(by)]
    rows.append(of_group(table).rename("all"))
    return pd.DataFrame(rows).round(3).to_string()


def main() -> None:
    """Measures the cells and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--keep", type=Path, default=Path("var/benchmarks/cutoffs"))
    parser.add_argument("--models", default="", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--again", default="delivered")
    parser.add_argument("--sets", default="")
    parser.add_argument("--lengths", default="")
    parser.add_argument("--depots", default="")
    parser.add_argument("--cutoffs", type=int)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--of", default="delivered", help="model of the tables")
    args = parser.parse_args()
    args.keep.mkdir(parents=True, exist_ok=True)
    names = args.sets.split(",") if args.sets else list(real_fleets(args.data))
    lengths = _numbers(args.lengths) or LENGTHS
    depots = _numbers(args.depots) or DEPOTS
    cutoffs = args.cutoffs or (CUTOFFS if args.whole else QUICK_CUTOFFS)
    every = cells(names, lengths, depots, cutoffs)
    # LightGBM takes longer than all the others together.
    left_out = {"prophet"} if args.whole else {"prophet", "boosted"}
    every_model = [name for name in MODELS if name not in left_out]
    models = args.models.split(",") if args.models else every_model
    again = args.again.split(",")
    print(stamp(), f"{len(every)} cells", flush=True)
    # The cells are measured side by side.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(args.processes) as pool:
        jobs = [
            pool.submit(measure, cell, args.data, args.keep, models, again)
            for cell in every
        ]
        for number, job in enumerate(jobs, start=1):
            rows += job.result()
            if sys.stderr.isatty():
                print(f"\r{number} of {len(jobs)}", end="", file=sys.stderr)
    frame = pd.DataFrame(rows)
    frame.to_csv(args.keep / "scores.csv", index=False)
    print(report(frame, args.of))
    print(f"\n{bands.report(frame, args.of)}")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(",") if each)


if __name__ == "__main__":
    main()
