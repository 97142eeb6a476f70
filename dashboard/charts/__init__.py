"""Tables to Altair charts; no I/O."""
