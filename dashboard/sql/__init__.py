"""The text of every SELECT the dashboard makes; `queries` says what each returns."""
