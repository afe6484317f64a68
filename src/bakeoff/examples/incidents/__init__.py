"""A synthetic corpus of accident reports with the 50 gold queries of S4."""
