"""Client processes of a load, on this machine or on others, with their clocks compared."""
