"""Loops that send and time queries: one client or many threads."""
