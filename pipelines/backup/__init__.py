"""Backups of the database and the artefacts, created and restored as one folder."""

from pipelines.backup.creation import CreatedBackup, create
from pipelines.backup.restoration import RestoredBackup, restore

__all__ = ["CreatedBackup", "RestoredBackup", "create", "restore"]
