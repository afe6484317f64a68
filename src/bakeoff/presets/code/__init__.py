"""S2: code search, by file and by answer."""
