"""Backups of the database and the artefacts, created and restored as one folder.

creation     creates a backup        restoration  checks a backup, then restores all or nothing
archive      its files and manifest      postgres   runs pg_dump, pg_restore and psql
"""

from pipelines.backup.creation import CreatedBackup, create
from pipelines.backup.restoration import RestoredBackup, restore

__all__ = ["CreatedBackup", "RestoredBackup", "create", "restore"]
