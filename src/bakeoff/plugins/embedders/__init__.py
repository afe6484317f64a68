"""Built-in embedding models, registered by entry points like anyone else's."""
