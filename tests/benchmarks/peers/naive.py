"""The two naive forecasts that `harbor backtest` prints as well."""

import time

from forecaster import backtest
from forecaster.backtest import HoldoutSplit
from forecaster.data.panel import Panel
from tests.benchmarks.peers import Forecasts, Peer, PeerRun


def baseline(name: str) -> Peer:
    """The baseline of that name as a peer."""

    def run(panel: Panel, split: HoldoutSplit) -> PeerRun:
        started = time.perf_counter()
        forecasters = {name: backtest.naive_forecaster(name, split.horizon)}
        naive_forecasts = backtest.run(panel, split, forecasters)[name]
        seconds = time.perf_counter() - started
        forecasts = Forecasts(
            naive_forecasts.p10_odh,
            naive_forecasts.point_odh,
            naive_forecasts.p90_odh,
        )
        return PeerRun(forecasts, 0.0, seconds, "nothing to tune")

    return run
