"""Drafts queries from what documents say about themselves, without a language model, marked synthetic."""
