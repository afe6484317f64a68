"""Retrievers: searches that exist already."""
