"""Measures the cost of a step: compile time, step time, memory and latency.

Metric names end in their unit: seconds or bytes; the others are counts.
"""

import math
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pipelines.runs.ledger import Run

if TYPE_CHECKING:
    from forecaster.model.two_stage_fit import TrainingResult


@contextmanager
def measure_training(metrics: dict[str, Any]) -> Iterator[None]:
    """Measures JAX compilation and peak memory in the block, even if the block fails."""
    from forecaster.model.compile_stats import device_memory, record_compilations

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
    """Seconds of the first training step, compilation included, and the mean of later steps."""
    first = result.evaluation_fit
    step = None if math.isnan(first.step_seconds) else round(first.step_seconds, 4)
    return {
        "first_step_seconds": round(first.first_step_seconds, 3),
        "step_seconds": step,
    }


@contextmanager
def measure_inference(run: Run) -> Iterator[None]:
    """Records the duration of a forecast in its run, and the peak memory of the process."""
    started = time.perf_counter()
    yield
    run.metrics |= {
        "inference_seconds": round(time.perf_counter() - started, 4),
        "inference_host_memory_peak_bytes": host_memory_peak(),
    }


def host_memory_peak() -> int:
    """Peak memory of this process, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
