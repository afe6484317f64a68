"""Results of benchmarks as they are stored; all that reports import from here."""
