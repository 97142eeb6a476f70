"""The database: engines, migrations, roles, and the embedded Postgres.

engine           opens it: a Postgres of the user's own, or the one of `embedded`
readonly_engine  short timeouts, for monitoring     roles    owner, writer, reader
schema_version   compares its schema with ours      migrate  brings it to ours
"""
