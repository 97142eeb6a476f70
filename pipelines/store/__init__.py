"""Every statement the pipelines send, locks apart: functions that take a Connection."""
