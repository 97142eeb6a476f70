"""A number with a name, in the form that Prometheus reads.

Moments are seconds since 1970, so that an age is `time()` less the number whenever it is
asked; what is not known is left out, and is never 0.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from prometheus_client.core import GaugeMetricFamily

Value = float | int | bool | datetime | date | None


@dataclass(frozen=True)
class Number:
    """One number, or one of several that differ in their labels."""

    name: str
    help: str
    value: Value
    labels: dict[str, str]


def one(name: str, says: str, value: Value, **labels: str) -> Number:
    """A number; one whose value is None is not shown."""
    return Number(name, says, value, labels)


def families(numbers: Iterable[Number]) -> list[GaugeMetricFamily]:
    """Numbers by their names, each name once."""
    found: dict[str, GaugeMetricFamily] = {}
    for number in numbers:
        if number.value is None:
            continue
        family = found.setdefault(
            number.name,
            GaugeMetricFamily(
                f"harbor_{number.name}", number.help, labels=list(number.labels)
            ),
        )
        family.add_metric(list(number.labels.values()), _as_float(number.value))
    return list(found.values())


def _as_float(value: Value) -> float:
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, date):
        return datetime.combine(value, time(), UTC).timestamp()
    assert value is not None, "left out before"
    return float(value)
