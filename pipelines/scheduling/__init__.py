"""The scheduler of the nightly runs: when they start, and again; `nightly` is what runs.

schedule           the jobs, the leader, and the retries of missed, failed and late nights
subprocess_runner  runs one night in a child process with a deadline
"""
