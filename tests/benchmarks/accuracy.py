"""Harbor Fleet beside what people would use instead, under one protocol.

The last 30 days are held out, and every model forecasts the 7 days after each of their
origins. Harbor Fleet and LightGBM train once on what precedes the
holdout; models of one depot each are refitted at every sixth origin. Every ratio is taken
over the depot-days that both models forecast.

    make accuracy DATA="DATA/chicago_l DATA/bayarea_bikeshare"
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from forecaster import backtest, metrics
from forecaster.backtest import BacktestForecasts, HoldoutSplit
from forecaster.data.panel import Panel
from forecaster.model.two_stage_fit import watermark
from forecaster.naive_forecasts import NAIVE_FORECASTS
from pipelines.cli.context import open_context
from pipelines.demand import counting
from pipelines.demand.panels import read_panel
from tests.benchmarks import ratios
from tests.benchmarks.machine import stamp
from tests.benchmarks.peers import (
    Forecasts,
    Peer,
    PeerRun,
    naive_forecast,
    with_actuals,
)
from tests.benchmarks.stored import Run, stored_or_new

HOLDOUT_DAYS, HORIZON = 30, 7
OWN = "gru"
# Imported when they are run: each brings a library of its own.
PEERS = {
    OWN: "harbor_fleet:gru",
    "light_gbm": "boosted:light_gbm",
    "auto_ets": "statistical:auto_ets",
    "theta": "statistical:theta",
    "prophet": "prophet_peer:prophet",
}
TARGETS = {
    "Prophet": (("prophet",), 0.70),
    "the best statistical model": (("auto_ets", "theta", *NAIVE_FORECASTS), 0.85),
    "LightGBM": (("light_gbm",), 0.97),
}
COLUMNS = {
    "mape": ("MAPE %", ".2f"), "mape_ratio": ("gru / model", ".3f"), "wape": ("WAPE %", ".2f"),
    "wape_ratio": ("gru / model", ".3f"), "bias": ("bias %", ".2f"), "mase": ("MASE", ".3f"),
    "coverage80": ("80 % band", ".3f"), "train_seconds": ("train s", ".0f"),
    "forecast_seconds": ("forecast s", ".1f"), "days": ("days", ","),
}  # fmt: skip
"""Headings and formats of the table, by score."""


def main() -> None:
    """Measures every folder, prints its table, and keeps the numbers."""
    args = _arguments()
    ratio_by_name: dict[str, float] = {}
    for folder in args.folders:
        panel = panel_of(folder)
        split = backtest.split_holdout(panel, HOLDOUT_DAYS, HORIZON)
        runs = {
            name: _run(
                name,
                panel,
                split,
                args.keep / f"{folder.name}-{name}.npz",
                name in args.again,
            )
            for name in args.models
        }
        result = measured(panel, split, runs)
        (args.keep / f"{folder.name}.json").write_text(json.dumps(result, indent=1))
        print(f"\n{folder.name}: {heading(panel, split)}\n")
        print(table_of(result))
        ratio_by_name |= _ratios(folder.name, result)
    ratios.write(args.json, "accuracy", ratio_by_name)


def panel_of(folder: Path) -> Panel:
    """Ingests the files of a folder into a database of its own, and reads the panel back."""
    with tempfile.TemporaryDirectory(prefix="harbor-bench-") as home:
        os.environ["HARBOR_HOME"] = home
        command = [sys.executable, "-m", "pipelines", "ingest", str(folder)]
        subprocess.run(command, check=True)
        with open_context() as context:
            return read_panel(context.engine, counting.default_origin(context.engine))


def _ratios(folder: str, result: dict[str, dict[str, Any]]) -> dict[str, float]:
    return {
        f"{folder}.{name}.{ratio}": each[ratio]
        for name, each in result.items()
        for ratio in ("mape_ratio", "wape_ratio")
        if name != OWN
    }


def measured(
    panel: Panel, split: HoldoutSplit, runs: dict[str, PeerRun]
) -> dict[str, dict[str, Any]]:
    """Each model's scores, and Harbor Fleet's over the same depot-days."""
    forecasts = {
        name: with_actuals(panel, split, run.forecasts) for name, run in runs.items()
    }
    scale_d = backtest.mase_scale(panel, split.trained_through)
    result = {}
    for name, run in runs.items():
        pair = backtest.score({"own": forecasts[OWN], "peer": forecasts[name]}, scale_d)
        result[name] = pair["peer"].in_percent() | {
            "own_mape": pair["own"].in_percent()["mape"],
            "mape_ratio": _ratio(pair["own"].mape, pair["peer"].mape),
            "wape_ratio": _ratio(pair["own"].wape, pair["peer"].wape),
            "train_seconds": round(run.train_seconds, 1),
            "forecast_seconds": round(run.forecast_seconds, 1),
            "note": run.note,
        }
    result[OWN] |= {
        "poisson_floor": round(100 * poisson_floor(forecasts[OWN]), 2),
        "coverage_by_day": _coverage_by_day(forecasts[OWN]),
        "coverage_by_city": _coverage_by_city(forecasts[OWN], panel),
    }
    return result


def poisson_floor(forecasts: BacktestForecasts) -> float:
    """MAPE of one who knows each day's mean, were counts drawn by chance alone.

    The means are taken to be the forecasts; 100 draws with a fixed seed.
    """
    known = np.isfinite(forecasts.actual_odh) & np.isfinite(forecasts.point_odh)
    mean_r = forecasts.point_odh[known]
    drawn_kr = np.random.default_rng(0).poisson(mean_r, (100, len(mean_r)))
    counted = drawn_kr > 0
    miss_kr = np.abs(drawn_kr - mean_r) / np.maximum(drawn_kr, 1)
    return float(miss_kr[counted].mean())


def heading(panel: Panel, split: HoldoutSplit) -> str:
    """Description of a measurement: when, on what, and from which commit."""
    return (
        f"{panel.n_depots} depots, {panel.start_on} to {panel.origin}; trained through "
        f"{split.trained_through}, {len(split.origins)} origins. {stamp()}."
    )


def table_of(result: dict[str, dict[str, Any]]) -> str:
    """The table, and under it how far each target is."""
    headings = ["model", *(heading for heading, _ in COLUMNS.values())]
    lines = [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
    for name in sorted(result, key=lambda name: result[name]["mape"]):
        values = [(result[name][score], form) for score, (_, form) in COLUMNS.items()]
        cells = ["–" if value is None else f"{value:{form}}" for value, form in values]
        lines.append(f"| {' | '.join([name, *cells])} |")
    lines.append("")
    for label, (names, target) in TARGETS.items():
        ratios = [result[name]["mape_ratio"] for name in names if name in result]
        if ratios:
            lines.append(f"- {max(ratios):.3f} × {label} (reach for {target})")
    own = result[OWN]
    lines.append(f"- {own['poisson_floor']} % is the Poisson floor at its own means")
    for part in ("day", "city"):
        share = own[f"coverage_by_{part}"].values()
        lines.append(f"- 80 % band by {part}: {min(share)} to {max(share)}")
    lines += [f"- {name}: {each['note']}" for name, each in result.items()]
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    every = ",".join((*PEERS, *NAIVE_FORECASTS))
    parser.add_argument("--models", default=every, help=f"of {every}")
    parser.add_argument(
        "--keep", type=Path, default=Path("var/benchmarks"), help="for the forecasts"
    )
    parser.add_argument(
        "--again", default=OWN, help="models measured again though kept (default: gru)"
    )
    ratios.add_option(parser)
    args = parser.parse_args()
    args.models = [OWN, *(set(args.models.split(",")) - {OWN})]
    args.again = args.again.split(",")
    args.keep.mkdir(parents=True, exist_ok=True)
    return args


def _run(
    name: str, panel: Panel, split: HoldoutSplit, path: Path, again: bool
) -> PeerRun:
    """Runs a model, or reads what it forecast when it was last run on this data."""

    def run() -> Run:
        made = _peer(name)(panel, split)
        print(f"{name}: {made.train_seconds:.0f} s", flush=True)
        metadata = {key: getattr(made, key) for key in PeerRun._fields[1:]}
        return made.forecasts._asdict(), {name: metadata}

    arrays, models = stored_or_new(path, watermark(panel), again, run)
    return PeerRun(Forecasts(**arrays), **models[name])


def _peer(name: str) -> Peer:
    if name in NAIVE_FORECASTS:
        return naive_forecast(name)
    module, function = PEERS[name].split(":")
    return getattr(
        importlib.import_module(f"tests.benchmarks.peers.{module}"), function
    )


def _ratio(own: float, peer: float) -> float:
    return round(own / peer, 4)


def _coverage_by_day(forecasts: BacktestForecasts) -> dict[str, float]:
    shares = {}
    for day in range(forecasts.point_odh.shape[2]):
        shares[str(day + 1)] = _coverage(forecasts, np.s_[:, :, day])
    return shares


def _coverage_by_city(forecasts: BacktestForecasts, panel: Panel) -> dict[str, float]:
    city_d = np.array(panel.cities)
    return {
        city: _coverage(forecasts, np.s_[:, city_d == city])
        for city in sorted(set(panel.cities))
    }


def _coverage(forecasts: BacktestForecasts, where: Any) -> float:
    actual, p10, p90 = (
        getattr(forecasts, name)[where] for name in ("actual_odh", "p10_odh", "p90_odh")
    )
    known = np.isfinite(actual) & np.isfinite(p10)
    return round(metrics.coverage(actual, p10, p90, known), 3)


if __name__ == "__main__":
    main()
