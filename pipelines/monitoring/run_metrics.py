"""What the last training and the last forecast measured, and how far off they were."""

from collections.abc import Iterator

from pipelines.monitoring.metric import Metric, metric
from pipelines.monitoring.snapshot import Look

SCORES = {
    "mape": "Mean of |forecast - actual| / actual over four weeks of live forecasts.",
    "wape": "Sum of |forecast - actual| by volume, over the same depot-days.",
    "bias": "Sum of forecast - actual by volume; above 0 is too high.",
}
TRAINED = {
    "compilations": (
        "training_compilations",
        "Programs compiled by the last training.",
    ),
    "cache_hits": ("training_cache_hits", "Of these, found in the compile cache."),
    "cache_misses": ("training_cache_misses", "Of these, compiled anew."),
    "compile_seconds": ("training_compile_seconds", "Time the last training compiled."),
    "first_step_seconds": (
        "training_first_step_seconds",
        "From the start of the last training's fit to the end of its first step.",
    ),
    "step_seconds": ("training_step_seconds", "A step of the last training, settled."),
    "device_memory_peak_bytes": (
        "training_device_memory_peak_bytes",
        "Most memory of one device that the last training used.",
    ),
    "device_memory_limit_bytes": (
        "training_device_memory_limit_bytes",
        "Memory of one device that the last training could use.",
    ),
    "host_memory_peak_bytes": (
        "training_host_memory_peak_bytes",
        "Most memory of the last training's process.",
    ),
}
FORECAST = {
    "inference_cold_seconds": (
        "inference_cold_seconds",
        "The last forecast's pass with nothing warm.",
    ),
    "inference_warm_seconds": ("inference_warm_seconds", "The same once more."),
    "inference_memory_bytes": ("inference_memory_bytes", "Memory that it took."),
}


def measured(look: Look) -> Iterator[Metric]:
    """Of the last training, the last forecast, and the scores of those shown."""
    for step, names in (("train", TRAINED), ("forecast", FORECAST)):
        metrics = look.metrics(step) or {}
        for key, (name, description) in names.items():
            yield metric(name, description, metrics.get(key))
    if look.compiling is not None and sum(look.compiling) > 0:
        hits, misses, cold = look.compiling
        description = "Trainings of 30 days that compiled anything; a first one does."
        yield metric("training_cold_trainings", description, cold)
        description = "Share of programs found in the compile cache over 30 days."
        yield metric("training_cache_hit_ratio", description, hits / (hits + misses))
    yield from _accuracy(look)


def _accuracy(look: Look) -> Iterator[Metric]:
    for row in look.slow.accuracy if look.slow else ():
        for score, description in SCORES.items():
            yield metric(
                f"live_{score}_ratio", description, row[score], model=row["model"]
            )
        if row["model"] == "shown":
            description = "Share of actuals inside the 80 % band over four weeks."
            yield metric("live_coverage_ratio", description, row["coverage"])
            yield metric("live_scored", "Forecasts of a depot's day scored.", row["n"])
    for part, scores in (look.slow.parts if look.slow else {}).items():
        for each in scores:
            said = {part: str(each.part)}
            mape = each.ape_sum / each.n_comparable if each.n_comparable else None
            yield metric(f"live_{part}_mape_ratio", f"MAPE by {part}.", mape, **said)
            description = f"Share of actuals inside the 80 % band, by {part}."
            inside = each.n_in_interval / each.n
            yield metric(f"live_{part}_coverage_ratio", description, inside, **said)
