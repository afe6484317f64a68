"""The review in a browser: one passage at a time, judged by key, on disk before the next one is shown."""
