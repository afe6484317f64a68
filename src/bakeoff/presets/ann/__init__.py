"""S1: recall of approximate neighbours."""
