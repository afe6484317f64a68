"""Repeats whole configurations: ingestion, index and search at each depth."""
