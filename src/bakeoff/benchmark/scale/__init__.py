"""bakeoff scale: how cost grows with size."""
