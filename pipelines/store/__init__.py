"""All SQL statements of the pipelines, by table: functions that take a Connection."""
