"""The built-in plug-ins, one file each; only the registry imports them."""
