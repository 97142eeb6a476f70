"""Every statement the pipelines send: functions that take a Connection."""
