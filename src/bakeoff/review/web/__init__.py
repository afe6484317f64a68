"""The review in a browser: one passage at a time, judged by keyboard and saved before the next is shown."""
