"""Persistent data: artifacts, rows, Parquet files, temporary folders, weights, keys and where they may be sent."""
