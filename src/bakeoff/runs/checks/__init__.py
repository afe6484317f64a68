"""Validation: what is wrong with an experiment and its truth, and what it can detect, before any model is loaded."""
