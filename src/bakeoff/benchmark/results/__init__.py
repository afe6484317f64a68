"""Stored benchmark results; reports import nothing else from `benchmark`."""
