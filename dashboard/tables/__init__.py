"""Query results to tables, HTML and files for people; no I/O."""
