"""Human review: pool, review files, ledger, and the measures computed from judgments."""
