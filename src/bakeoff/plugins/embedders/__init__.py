"""Built-in embedding models, registered by entry points like third-party ones."""
