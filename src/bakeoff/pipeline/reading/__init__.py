"""How documents are read: in a process with limits, cached by their bytes, each encoding named."""
