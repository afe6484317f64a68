"""People's judgments: the pool that is judged, the files and the ledger they stand in, and what follows from them."""
