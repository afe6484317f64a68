"""Built-in sources: where documents come from."""
