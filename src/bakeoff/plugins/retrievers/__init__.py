"""Retrievers: existing searches, measured as systems."""
