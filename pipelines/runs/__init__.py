"""The ledger of runs: what ran, when, with which result."""
