"""The command line: thin commands, and one place that prints."""
