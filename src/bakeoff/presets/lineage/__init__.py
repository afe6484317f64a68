"""S0: embedding models for questions about SQL lineage."""
