"""Built-in chunkers, which split documents."""
