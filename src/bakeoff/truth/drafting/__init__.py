"""Suggestions: queries drafted from what documents say of themselves, without a language model, marked synthetic."""
