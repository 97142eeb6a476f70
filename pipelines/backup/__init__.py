"""Backups of the database and the artefacts, created and restored as one folder."""

from pipelines.backup.creation import Created, create
from pipelines.backup.restoration import Restored, restore

__all__ = ["Created", "Restored", "create", "restore"]
