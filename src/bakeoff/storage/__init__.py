"""What is kept: artifacts, rows, Parquet files, temporary folders, weights, keys and where they may go."""
