"""Validation: what is wrong with an experiment and its truth, and what they can show, before any model is loaded."""
