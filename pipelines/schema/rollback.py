"""SQL for the model that a rollback makes champion again."""

ROLLBACK_TARGET = """
    select version from models
    where role = 'retired'
    order by promoted_at desc nulls last
    limit 1
"""
"""The version of the champion before the present one; no row where there was none."""
