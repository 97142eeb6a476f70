"""Traces some steps of a training with `jax.profiler`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import jax

from forecaster.model.trainer import Report

EPOCHS_TRACED = 2


@contextmanager
def traced_epochs(folder: Path) -> Iterator[Callable[[Report], Report]]:
    """Traces the `EPOCHS_TRACED` epochs after the first fit's first one, which compiles.

    Yields a function that wraps a fit's progress report, so that it also starts and stops
    the trace. A shorter fit ends it early.
    """
    reported_epochs: list[int] = []
    running = False

    def wrap(report: Report) -> Report:
        def traced_report(epoch: int, epochs: int) -> None:
            nonlocal running
            if not reported_epochs:
                jax.profiler.start_trace(folder)
                running = True
            elif running and len(reported_epochs) == EPOCHS_TRACED:
                jax.profiler.stop_trace()
                running = False
            reported_epochs.append(epoch)
            report(epoch, epochs)

        return traced_report

    try:
        yield wrap
    finally:
        if running:
            jax.profiler.stop_trace()
