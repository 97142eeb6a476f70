"""The database: engines, migrations, roles, and the embedded Postgres."""
