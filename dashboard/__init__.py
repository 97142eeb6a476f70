"""The pages: they read through `queries`, and write overrides only."""
