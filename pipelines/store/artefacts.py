"""Statements that select artefacts no longer needed and record them as pruned."""

from collections.abc import Collection

import sqlalchemy as sa

from pipelines.schema import models
from pipelines.schema.forecasting import ROLLBACK_TARGET

# Who forecasts, who would after a rollback, who waits for a verdict, what made the
# forecasts shown, what a backfill under way still names, and what was made or was
# champion lately: until the next one was promoted.
NEEDED = f"""
select version, run_id from models
where role in ('champion', 'challenger') or version = {ROLLBACK_TARGET}
union all
select version, run_id from models
where version in (select model_version from forecasts
                  where origin_on = (select max(origin_on) from forecasts))
   or version in (select s.model_version from backfill_slots s
                  join backfills b using (backfill_id)
                  where s.state = 'waiting' and b.state in ('running', 'paused'))
   or greatest(created_at, promoted_at,
               (select min(next.promoted_at) from models next
                where next.promoted_at > models.promoted_at))
      >= clock_timestamp() - make_interval(days => :days)
"""
# The fit that a model was judged by is of the same run, and is needed as long as it.
# Roles are named again, because somebody may promote one while this waits for its row.
PRUNE = f"""
with needed as ({NEEDED})
update models m set pruned_at = clock_timestamp()
where m.pruned_at is null and m.role in ('retired', 'rejected', 'evaluation')
  and not exists (
      select from needed n where n.version = m.version or n.run_id = m.run_id)
returning m.version
"""


def prune(connection: sa.Connection, older_than_days: int) -> list[str]:
    """Records the artefacts that are not needed any more as gone.

    Args:
      connection: Whose transaction is committed before any file goes.
      older_than_days: Since they were made, or their model was champion.

    Returns:
      Versions of their models.
    """
    versions = connection.scalars(sa.text(PRUNE), {"days": older_than_days})
    return sorted(map(str, versions))


def gone_of(connection: sa.Connection, filenames: Collection[str]) -> list[str]:
    """Those of the files that are recorded as gone, in order of their names."""
    statement = sa.select(models.c.filename).where(
        models.c.pruned_at.is_not(None), models.c.filename.in_(filenames)
    )
    return sorted(connection.scalars(statement))
