"""Runs: measured, stored, read back, compared and judged."""
