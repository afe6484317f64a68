"""Statistics on plain arrays of per-query scores: intervals, paired tests, power, comparison, verdict."""
