"""Built-in readers: from a file's bytes to a document's text."""
