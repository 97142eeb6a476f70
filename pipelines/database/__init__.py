"""The database: engines, migrations, roles, and the embedded Postgres.

engine          opens it: a Postgres of the user's own, or the one of `embedded`
roles           owner, writer, reader; the watch's engine, which only reads
schema_version  compares its schema with ours      migrate  brings it to ours
"""
