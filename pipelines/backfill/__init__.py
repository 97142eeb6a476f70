"""Hindcasts of past origins: `harbor backfill`.

request   the validated request             decisions  what is done at each origin, and why
hindcast  forecasts past origins            run        trains, forecasts and scores

A backfill is idempotent and keeps no state of its own: forecasts already stored with the
same model and the same known data are kept.
"""

from pipelines.backfill.request import BackfillRequest
from pipelines.backfill.run import (
    BackfillResult,
    ProgressCallbacks,
    preview_backfill,
    run_backfill,
)

__all__ = [
    "BackfillRequest",
    "BackfillResult",
    "ProgressCallbacks",
    "preview_backfill",
    "run_backfill",
]
