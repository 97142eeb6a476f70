"""Sentences and formatted numbers for the pages."""
