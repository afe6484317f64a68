"""Benchmarks of speed and recall: `ann`, `load` and `scale`."""
