"""Rankings and judgments → scores, with ties, bounds and losses by step."""
