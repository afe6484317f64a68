"""Whole configurations repeated: ingestion, index and search at each depth."""
