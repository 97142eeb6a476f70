"""Training time until as good as neuralforecast's GRU, on the same cores.

The peer's time is that of its last fit; tuning its learning rate and its scaler is not
counted. Ours, given as many units, is trained again with twice the epochs, until its
holdout MAPE is no worse; its time is the whole training, both fits and the calibration.

    make time-to-mape DATA="DATA/bayarea_bikeshare"
"""

import argparse
from dataclasses import replace
from pathlib import Path

from forecaster import backtest
from forecaster.backtest import BacktestForecasts, HoldoutSplit
from forecaster.config import ModelConfig
from forecaster.data.panel import Panel
from forecaster.model.cpu_devices import use_all_cores
from forecaster.model.two_stage_fit import Recipe, train_model
from pipelines.training.backtesting import as_forecaster
from tests.benchmarks import ratios
from tests.benchmarks.accuracy import HOLDOUT_DAYS, HORIZON, panel_of
from tests.benchmarks.machine import stamp
from tests.benchmarks.peers import with_actuals
from tests.benchmarks.peers.neural import UNITS, Settings, neural_gru

EPOCHS = (1, 2, 4, 8, 16, 32, 64, 100)


def main() -> None:
    """Measures one folder and prints a line for each number of epochs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--tuned", metavar="RATE,SCALER", help="of the peer, where they are known"
    )
    ratios.add_option(parser)
    args = parser.parse_args()
    folder = args.folder
    panel = panel_of(folder)
    split = backtest.split_holdout(panel, HOLDOUT_DAYS, HORIZON)
    print(f"{folder.name}. {stamp()}", flush=True)
    peer = neural_gru(panel, split, _settings(args.tuned))
    peer_mape = _mape(panel, split, with_actuals(panel, split, peer.forecasts))
    print(
        f"neuralforecast's GRU ({peer.note}): {peer_mape} % in {peer.train_seconds:.0f} s"
    )
    for epochs in EPOCHS:
        mape, seconds = _ours(panel, split, epochs)
        print(f"{epochs} epochs: {mape} % in {seconds:.0f} s", flush=True)
        if mape <= peer_mape:
            ratio = peer.train_seconds / seconds
            print(f"as good {ratio:.1f} × faster")
            ratios.write(
                args.json, "time_to_mape", {f"{folder.name}.times_faster": ratio}
            )
            return
    print("never as good")
    ratios.write(args.json, "time_to_mape", {f"{folder.name}.times_faster": 0.0})


def _settings(tuned: str | None) -> Settings | None:
    if tuned is None:
        return None
    rate, scaler = tuned.split(",")
    return Settings(float(rate), scaler)


def _ours(panel: Panel, split: HoldoutSplit, epochs: int) -> tuple[float, float]:
    """MAPE over the holdout, and seconds of training."""
    recipe = Recipe(model=ModelConfig(units=UNITS))
    recipe = replace(recipe, train=replace(recipe.train, epochs=epochs))
    use_all_cores(recipe.train.batch_size, "")
    learnt = train_model(panel.as_of(split.trained_through), recipe)
    forecasters = {"gru": as_forecaster(learnt.production)}
    forecasts = backtest.run(panel, split, forecasters)["gru"]
    return _mape(panel, split, forecasts), learnt.seconds


def _mape(panel: Panel, split: HoldoutSplit, forecasts: BacktestForecasts) -> float:
    scale_d = backtest.mase_scale(panel, split.trained_through)
    return float(backtest.score({"it": forecasts}, scale_d)["it"].in_percent()["mape"])


if __name__ == "__main__":
    main()
