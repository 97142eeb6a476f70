"""Measures the cost of a step: compile time, step time, memory and latency.

Metric names end in their unit: seconds or bytes; the others are counts.
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

Result = TypeVar("Result")

MAX_REPEATED_INFERENCE_S = 10.0
"""A slower forecast is not repeated to measure warm latency and memory."""


@contextmanager
def measure_training(metrics: dict[str, Any]) -> Iterator[None]:
    """Measures JAX compilation and peak memory in the block, also if it fails."""
    from forecaster.model.compile_stats import record_compilations
    from forecaster.model.device_memory import device_memory

    with record_compilations() as stats:
        try:
            yield
        finally:
            # Reading device memory starts JAX, which may be what failed.
            peak, limit = device_memory() if stats.n_loaded else (None, None)
            metrics |= {
                "compilations": stats.compilations,
                "cache_hits": stats.cache_hits,
                "cache_misses": stats.cache_misses,
                "compile_seconds": round(stats.compile_seconds, 3),
                "device_memory_peak_bytes": peak,
                "device_memory_limit_bytes": limit,
                "host_memory_peak_bytes": host_memory_peak(),
            }


def step_metrics(result: "TrainingResult") -> dict[str, float | None]:
    """Seconds of the first training step, with compilation, and of a later one."""
    first = result.evaluation_fit
    step = None if math.isnan(first.step_seconds) else round(first.step_seconds, 4)
    return {
        "first_step_seconds": round(first.first_step_seconds, 3),
        "step_seconds": step,
    }


def measure_inference(run: Run | None, infer: Callable[[], Result]) -> Result:
    """Calls `infer`; with a run, repeats it to measure warm latency and memory.

    The first call is cold: later ones find the arrays read and laid out.

    Args:
      run: The run that records the metrics.
      infer: A deterministic function.
    """
    result, cold_s = _timed(infer)
    if run is None:
        return result
    run.metrics["inference_cold_seconds"] = cold_s
    if cold_s <= MAX_REPEATED_INFERENCE_S:
        run.metrics["inference_warm_seconds"] = _timed(infer)[1]
        run.metrics["inference_memory_bytes"] = _peak_memory(infer)
    return result


def _timed(call: Callable[[], Result]) -> tuple[Result, float]:
    started = time.perf_counter()
    result = call()
    return result, round(time.perf_counter() - started, 4)


def _peak_memory(call: Callable[[], object]) -> int:
    """Peak memory of a call, in bytes; tracing doubles its time."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def host_memory_peak() -> int | None:
    """Peak memory of this process, in bytes; None where the system does not report it."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
