"""Alembic's migrations: `harbor db upgrade` runs them, `harbor db check` compares."""
