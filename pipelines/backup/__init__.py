"""Backups of the database and the artefacts, created and restored as one folder.

creation     writes one        restoration  checks everything, then restores whole or not at all
archive      its files         postgres     dumps by pg_dump
"""

from pipelines.backup.creation import CreatedBackup, create
from pipelines.backup.restoration import RestoredBackup, restore

__all__ = ["CreatedBackup", "RestoredBackup", "create", "restore"]
