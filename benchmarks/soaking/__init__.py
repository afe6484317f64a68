"""The parts of soak.py: the place, the experiment, the faults, a round, and what is counted after it."""
