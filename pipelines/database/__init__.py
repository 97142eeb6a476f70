"""The database: engines, migrations, roles, and the embedded Postgres.

engine          opens the database: an external Postgres, or the one of `embedded`
roles           owner, writer and reader roles; the read-only engine of `harbor watch`
schema_version  the database's schema and this release's    migrate  migrates the schema
"""
