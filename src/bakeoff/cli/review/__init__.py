"""bakeoff review: its commands, and what they print."""
