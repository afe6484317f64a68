"""Speed and neighbour recall of stores on vectors: truth, closed and open loops, resources, equal recall."""
