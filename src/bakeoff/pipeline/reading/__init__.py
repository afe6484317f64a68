"""Reads documents in processes with limits, caches them by content, and reports their encodings."""
