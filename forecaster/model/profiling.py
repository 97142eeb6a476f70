"""Traces some steps of a training with `jax.profiler`."""

from pathlib import Path
from types import TracebackType

import jax

from forecaster.model.trainer import Report

EPOCHS_TRACED = 2


class Profile:
    """Traces the epochs after a fit's first one, when all is compiled; once.

    It hooks into the progress report. A fit too short for the trace ends it early.
    """

    def __init__(self, folder: Path) -> None:
        """Traces into the folder, which is made if it is not there."""
        self.folder = folder
        self.traces = False
        self._ends_after: int | None = None

    def watch(self, report: Report) -> Report:
        """Wraps a report, so that it also starts and stops the trace."""

        def traced(epoch: int, epochs: int, best: float) -> None:
            if self._ends_after is None:
                jax.profiler.start_trace(self.folder)
                self._ends_after, self.traces = epoch + EPOCHS_TRACED, True
            elif self.traces and epoch >= self._ends_after:
                self._stop()
            report(epoch, epochs, best)

        return traced

    def _stop(self) -> None:
        self.traces = False
        jax.profiler.stop_trace()

    def __enter__(self) -> "Profile":
        """Opens; the trace begins after the first epoch."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stops a trace that is still running."""
        if self.traces:
            self._stop()
