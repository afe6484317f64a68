"""bakeoff load: systems under concurrent clients or a fixed arrival rate."""
