"""How documents are cut into chunks by several processes."""
