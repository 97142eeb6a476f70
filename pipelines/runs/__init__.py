"""The ledger of runs: what ran, when, with which result.

ledger          records every step as a row of `runs`, however it ends
locks           advisory locks of a session, and publishing on the session that holds one
run_log         stores the log lines of a run       tail            follows a run
metrics         measures the cost of a step         error_messages  an error in one sentence
"""
