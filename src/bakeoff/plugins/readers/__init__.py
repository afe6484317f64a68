"""Built-in readers: from the bytes of a file to the text of a document."""
