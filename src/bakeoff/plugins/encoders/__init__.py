"""Encoders: sparse vectors, and one vector per token."""
