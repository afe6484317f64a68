"""Encoders: sparse vectors, and a vector for each token."""
