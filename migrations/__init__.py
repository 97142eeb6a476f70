"""Alembic's migrations, run by `harbor db upgrade`; `harbor db check` finds differences."""
