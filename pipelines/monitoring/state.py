"""What the watch shows now: its newest look, and what it sees of this machine."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib.metadata import version
from pathlib import Path

from pipelines.monitoring.metric import Metric, metric
from pipelines.monitoring.metrics import snapshot_metrics
from pipelines.monitoring.snapshot import Look

DEPLOYING = timedelta(minutes=10)
"""After its start: a deployment starts everything anew, the watch too."""
STUCK = timedelta(minutes=5)
"""Without a look: somebody should start the watch anew."""


@dataclass(frozen=True)
class Probe:
    """How the dashboard answered when it was asked last.

    Args:
      at: When.
      seconds: Until it had answered and its page's numbers were read; None: it did not.
    """

    at: datetime
    seconds: float | None


@dataclass
class Screen:
    """Written by the watcher, read by whoever asks; a look is replaced whole.

    Args:
      home: HARBOR_HOME, whose disk is shown.
      started_at: When the watch began.
    """

    home: Path
    started_at: datetime
    look: Look = field(init=False)
    probe: Probe | None = None

    def __post_init__(self) -> None:
        """Nothing was seen yet."""
        self.look = Look(self.started_at, "The watch has not looked yet. Ask again.")

    def metrics(self, now: datetime) -> Iterator[Metric]:
        """All that is shown."""
        look = self.look
        yield from snapshot_metrics(look)
        is_new = now - self.started_at < DEPLOYING
        yield metric("build_info", "This program.", 1, version=version("harbor-fleet"))
        description = "When the watch began."
        yield metric("watch_started_timestamp_seconds", description, self.started_at)
        yield metric(
            "deployment_in_progress",
            "Whether the watch is new, or the tables are not this program's.",
            is_new or look.schema_is_current is False,
        )
        yield from self._disk()
        yield from self._dashboard()

    def not_alive(self, now: datetime) -> str | None:
        """Why the watch should be started anew; None where it should not."""
        silence = now - self.look.at
        if silence < STUCK:
            return None
        return (
            f"The watch has not looked for {silence.total_seconds():.0f} s, but "
            "should every quarter of a minute. Restart it."
        )

    def _disk(self) -> Iterator[Metric]:
        try:
            disk = shutil.disk_usage(self.home)
        except OSError:  # not made yet, or not ours to see: then it is left out
            return
        description = "Free on the disk that HARBOR_HOME lies on."
        yield metric("home_disk_free_bytes", description, disk.free)
        yield metric("home_disk_used_bytes", "Used of that disk.", disk.used)

    def _dashboard(self) -> Iterator[Metric]:
        probe = self.probe
        if probe is None:
            return
        description = "Whether the dashboard answered when it was asked last."
        yield metric("dashboard_up", description, probe.seconds is not None)
        description = "How long its answer and the first page's numbers took."
        yield metric("dashboard_seconds", description, probe.seconds)
