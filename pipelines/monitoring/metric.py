"""A metric, and its conversion to the families that Prometheus reads.

Moments are seconds since 1970, so that an age is `time()` less the metric whenever it is
queried; an unknown value is absent, and never 0.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

Value = float | int | bool | datetime | date | None
Family = CounterMetricFamily | GaugeMetricFamily


@dataclass(frozen=True)
class Metric:
    """One sample; several of one name differ in their labels.

    Args:
      name: Without the prefix `harbor_`; one that ends in `_total` is a counter, every
        other is a gauge.
      help: One sentence.
      value: None where it is not known.
      labels: By name.
    """

    name: str
    help: str
    value: Value
    labels: dict[str, str]


def metric(name: str, description: str, value: Value, **labels: str) -> Metric:
    """A metric with its labels as keyword arguments."""
    return Metric(name, description, value, labels)


def families(metrics: Iterable[Metric]) -> list[Family]:
    """Groups known metrics by name, each name once."""
    found: dict[str, Family] = {}
    for sample in metrics:
        if sample.value is None:
            continue
        if sample.name not in found:
            found[sample.name] = _family(sample)
        found[sample.name].add_metric(
            list(sample.labels.values()), _as_float(sample.value)
        )
    return list(found.values())


def _family(sample: Metric) -> Family:
    of_kind = (
        CounterMetricFamily if sample.name.endswith("_total") else GaugeMetricFamily
    )
    return of_kind(f"harbor_{sample.name}", sample.help, labels=list(sample.labels))


def _as_float(value: Value) -> float:
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, date):
        return datetime.combine(value, time(), UTC).timestamp()
    assert value is not None, "unknown values are absent"
    return float(value)
