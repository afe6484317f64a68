"""Built-in chunkers: how documents are cut."""
