"""People's judgments: the pool, the review files, the ledger, and the measures computed from them."""
