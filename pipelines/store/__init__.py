"""SQL statements of the pipelines, by table: functions that take a Connection.

Conditions and sums that the dashboard shares are in `schema`. Statements about the server and
not about its tables are where they are used: locks in `runs.locks`, sessions and roles in
`database`, dumps in `backup`, the lag of a replica in `cli.replica_finding`.
"""
