"""Statements that select artefacts no longer needed and record them as pruned."""

from collections.abc import Collection

import sqlalchemy as sa

from pipelines.schema import models
from pipelines.schema.rollback import ROLLBACK_TARGET

# The champion, the rollback target, the models of the forecast that is shown, and models that were
# created, or replaced as champion, in the last :days days.
NEEDED = f"""
select version, run_id from models
where role = 'champion' or version = ({ROLLBACK_TARGET})
union all
select version, run_id from models
where version in (select model_version from shown_forecast)
   or greatest(created_at, promoted_at,
               (select min(next.promoted_at) from models next
                where next.promoted_at > models.promoted_at))
      >= clock_timestamp() - make_interval(days => :days)
"""
# A model's evaluation fit has the same run, and is needed as long as the model. Roles are
# tested again, because a model may be promoted while this statement waits for its row.
PRUNE = f"""
with needed as ({NEEDED})
update models m set pruned_at = clock_timestamp()
where m.pruned_at is null and m.role <> 'champion'
  and not exists (
      select from needed n where n.version = m.version or n.run_id = m.run_id)
returning m.version
"""


def prune(connection: sa.Connection, older_than_days: int) -> list[str]:
    """Records the artefacts that are no longer needed as pruned, and returns the models' versions.

    The transaction must be committed before any file is deleted. Artefacts of models created,
    or replaced as champion, within `older_than_days` are kept.
    """
    versions = connection.scalars(sa.text(PRUNE), {"days": older_than_days})
    return sorted(map(str, versions))


def pruned_files(connection: sa.Connection, filenames: Collection[str]) -> list[str]:
    """Returns the file names whose artefacts are recorded as pruned, sorted."""
    statement = sa.select(models.c.filename).where(
        models.c.pruned_at.is_not(None), models.c.filename.in_(filenames)
    )
    return sorted(connection.scalars(statement))
