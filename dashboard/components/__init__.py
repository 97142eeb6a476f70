"""Parts that several pages are built from."""
