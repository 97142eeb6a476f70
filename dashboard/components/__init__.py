"""Widgets and forms of the pages."""
