"""Documents: kinds, headings, grammars, words and sentences, and limits for reading untrusted files."""
