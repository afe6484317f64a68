"""bakeoff ann: stores on vectors, tuned to equal recall."""
