"""The GRU of neuralforecast, two layers too, on log counts with the same calendar.

Its learning rate and how it scales a window are tuned on the last days of the training
period, where it stops early.
"""

import logging
import time
import warnings
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from neuralforecast import NeuralForecast
from neuralforecast.losses.pytorch import MQLoss
from neuralforecast.models import GRU

from forecaster.backtest import HoldoutSplit
from forecaster.data.features import build_features, choose_kinds
from forecaster.data.panel import Panel
from tests.benchmarks.peers import PeerRun, as_orders, nothing
from tests.benchmarks.peers.filled import filled_counts

VALIDATION_DAYS = 28
LEARNING_RATES = (1e-3, 3e-3)
SCALERS = ("robust", "standard", "identity")
TUNING_STEPS, MOST_STEPS = 150, 600
CONTEXT = 128
UNITS = 64
COLUMNS = ("GRU-lo-80", "GRU-median", "GRU-hi-80")


def neural_gru(
    panel: Panel, split: HoldoutSplit, settings: "Settings | None" = None
) -> PeerRun:
    """Trained once on what precedes the holdout, then forecasts from every origin.

    Args:
      panel: With the holdout.
      split: Which days are held out.
      settings: Known to be best; tuned without them.
    """
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    long = _long(panel)
    seen = long[long["ds"] <= panel.step(split.trained_through)]
    best = settings or _tuned(seen, split.horizon)
    started = time.perf_counter()
    frame = _rolled(long, split.horizon, len(split.origins), best, MOST_STEPS)
    seconds = time.perf_counter() - started
    note = f"{best.scaler} scaler, learning rate {best.rate}, at most {MOST_STEPS} steps, early stopping"
    return PeerRun(_by_origin(frame, panel, split), seconds, 0.0, note)


class Settings(NamedTuple):
    """Tuned settings."""

    rate: float
    scaler: str


def _tuned(seen: pd.DataFrame, horizon: int) -> Settings:
    """The settings of least miss over the last training days."""

    def miss(settings: Settings) -> float:
        frame = _rolled(
            seen, horizon, VALIDATION_DAYS - horizon, settings, TUNING_STEPS
        )
        return float(np.abs(frame["GRU-median"] - frame["y"]).mean())

    grid = (Settings(*each) for each in product(LEARNING_RATES, SCALERS))
    return min(grid, key=miss)


def _rolled(
    long: pd.DataFrame, horizon: int, origins: int, settings: Settings, steps: int
) -> pd.DataFrame:
    """Fits before the first of the last origins, then forecasts from each of them."""
    known = [name for name in long.columns if name.startswith("known_")]
    model = GRU(
        h=horizon,
        input_size=CONTEXT,
        inference_input_size=CONTEXT,
        encoder_n_layers=2,
        encoder_hidden_size=UNITS,
        decoder_hidden_size=UNITS,
        futr_exog_list=known,
        loss=MQLoss(level=[80]),
        scaler_type=settings.scaler,
        learning_rate=settings.rate,
        max_steps=steps,
        val_check_steps=50,
        early_stop_patience_steps=4,
        batch_size=64,
        random_seed=0,
        alias="GRU",
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_checkpointing=False,
    )
    return NeuralForecast(models=[model], freq=1).cross_validation(
        df=long,
        n_windows=origins,
        step_size=1,
        val_size=VALIDATION_DAYS,
        refit=False,
    )


def _long(panel: Panel) -> pd.DataFrame:
    """Tidy rows of log counts, with the calendar that Harbor Fleet's network reads."""
    kinds = choose_kinds(panel.calendar, panel.n_steps)
    calendar_gtf = build_features(panel, kinds, 7).calendar_gtf
    frames = []
    for depot, row_t in enumerate(filled_counts(panel)):
        steps = np.flatnonzero(np.isfinite(row_t))
        if len(steps) < CONTEXT:
            continue
        known = calendar_gtf[panel.calendar.group_d[depot], steps]
        names = [f"known_{column}" for column in range(known.shape[1])]
        frame = pd.DataFrame(known, columns=names)
        frame.insert(0, "unique_id", depot)
        frame.insert(1, "ds", steps)
        frame.insert(2, "y", np.log1p(row_t[steps]))
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def _by_origin(frame: pd.DataFrame, panel: Panel, split: HoldoutSplit) -> np.ndarray:
    forecasts = nothing(split, panel.n_depots)
    first = panel.step(split.origins[0])
    origin_r = frame["cutoff"].to_numpy(int) - first
    step_r = (frame["ds"] - frame["cutoff"]).to_numpy(int) - 1
    depot_r = frame["unique_id"].to_numpy(int)
    for column, whole_odh in zip(COLUMNS, forecasts, strict=True):
        whole_odh[origin_r, depot_r, step_r] = as_orders(frame[column].to_numpy())
    return forecasts
