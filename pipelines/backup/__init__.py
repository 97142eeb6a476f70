"""Backups of the database and the artefacts, taken and brought back as one."""

from pipelines.backup.creating import Created, create
from pipelines.backup.restoring import Restored, restore

__all__ = ["Created", "Restored", "create", "restore"]
