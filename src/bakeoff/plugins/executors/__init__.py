"""Built-in plug-ins, registered by entry points like anyone else's."""
