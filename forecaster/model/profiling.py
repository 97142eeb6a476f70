"""A trace of what some steps of a training spend their time on, for `jax.profiler`'s readers."""

from pathlib import Path
from types import TracebackType

import jax

from forecaster.model.trainer import Report

EPOCHS_TRACED = 2


class Profile:
    """Traces the epochs after a fit's first one, when all is compiled; once.

    It listens where progress is told. What is short ends with its trace, whatever that
    holds by then.
    """

    def __init__(self, folder: Path) -> None:
        """Traces into the folder, which is made if it is not there."""
        self.folder = folder
        self.traces = False
        self._ends_after: int | None = None

    def watch(self, report: Report) -> Report:
        """The same report, which also starts and stops the trace."""

        def told(epoch: int, epochs: int, best: float) -> None:
            if self._ends_after is None:
                jax.profiler.start_trace(self.folder)
                self._ends_after, self.traces = epoch + EPOCHS_TRACED, True
            elif self.traces and epoch >= self._ends_after:
                self._stop()
            report(epoch, epochs, best)

        return told

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
        """Ends a trace that still runs."""
        if self.traces:
            self._stop()
