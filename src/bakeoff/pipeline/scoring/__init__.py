"""Scores rankings against judgments: values, ties, bounds, and losses by step."""
