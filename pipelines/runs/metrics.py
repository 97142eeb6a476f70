"""What a step costs: compiling, steps, memory, latency; it ends up in the ledger.

The names are those of the metrics too: seconds, bytes, and plain counts.
"""

import math
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from pipelines.runs.ledger import Run

if TYPE_CHECKING:
    from forecaster.model.two_stage_fit import TrainingResult

Answer = TypeVar("Answer")

MEASURED_AGAIN_S = 10.0
"""A forecast that takes longer is not made twice more to be measured."""


@contextmanager
def measure_training(metrics: dict[str, Any]) -> Iterator[None]:
    """Counts what JAX compiles in the block, and the memory taken; also if it fails."""
    from forecaster.model.compile_stats import device_memory, record_compilations

    with record_compilations() as heard:
        try:
            yield
        finally:
            # Asking starts JAX, which may be what failed.
            peak, limit = device_memory() if heard.programs else (None, None)
            metrics |= {
                "compilations": heard.compilations,
                "cache_hits": heard.cache_hits,
                "cache_misses": heard.cache_misses,
                "compile_seconds": round(heard.seconds, 3),
                "device_memory_peak_bytes": peak,
                "device_memory_limit_bytes": limit,
                "host_memory_peak_bytes": host_memory_peak(),
            }


def step_metrics(learnt: "TrainingResult") -> dict[str, float | None]:
    """Seconds of the first step, compiling included, and of one of the many after it."""
    first = learnt.evaluation_fit
    step = None if math.isnan(first.step_seconds) else round(first.step_seconds, 4)
    return {
        "first_step_seconds": round(first.first_step_seconds, 3),
        "step_seconds": step,
    }


def measure_inference(run: Run | None, infer: Callable[[], Answer]) -> Answer:
    """Calls it, and again where there is a run, which is told of time and memory.

    The first call is cold: it reads and lays out what the next ones find there.

    Args:
      run: The ledger's row.
      infer: Gives the same answer every time.
    """
    answer, cold = _timed(infer)
    if run is None:
        return answer
    run.metrics["inference_cold_seconds"] = cold
    if cold <= MEASURED_AGAIN_S:
        run.metrics["inference_warm_seconds"] = _timed(infer)[1]
        run.metrics["inference_memory_bytes"] = _memory_of(infer)
    return answer


def _timed(call: Callable[[], Answer]) -> tuple[Answer, float]:
    started = time.perf_counter()
    answer = call()
    return answer, round(time.perf_counter() - started, 4)


def _memory_of(call: Callable[[], object]) -> int:
    """The most it holds at once, bytes; what is counted takes twice as long."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def host_memory_peak() -> int | None:
    """The most memory this process has held, bytes; None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most
