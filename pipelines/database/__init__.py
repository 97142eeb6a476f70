"""Opens the database, migrates it, and grants its roles; the embedded Postgres."""
