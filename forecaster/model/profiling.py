"""Traces some steps of a training with `jax.profiler`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import jax

from forecaster.model.trainer import Report

EPOCHS_TRACED = 2


@contextmanager
def traced_epochs(folder: Path) -> Iterator[Callable[[Report], Report]]:
    """Traces the epochs after a fit's first one, when all is compiled; once.

    Yields a function that wraps a fit's progress report, so that it also starts and stops
    the trace. A fit too short for the trace ends it early.
    """
    traced: list[int] = []
    running = False

    def wrap(report: Report) -> Report:
        def traced_report(epoch: int, epochs: int, best: float) -> None:
            nonlocal running
            if not traced:
                jax.profiler.start_trace(folder)
                running = True
            elif running and len(traced) == EPOCHS_TRACED:
                jax.profiler.stop_trace()
                running = False
            traced.append(epoch)
            report(epoch, epochs, best)

        return traced_report

    try:
        yield wrap
    finally:
        if running:
            jax.profiler.stop_trace()
