"""Vector datasets, their exact neighbours, and the quality of answers against them."""
