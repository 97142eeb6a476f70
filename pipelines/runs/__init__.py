"""The ledger of runs: what ran, when, and with what result.

ledger          records every step as a row of `runs`, however it ends
locks           session-level advisory locks, and publishing on the session that holds one
run_log         stores the log lines of a run       tail            follows a run
metrics         measures the cost of a step         error_messages  describes an error
"""
