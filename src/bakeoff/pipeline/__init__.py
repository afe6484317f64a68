"""The stages of a run, one module each; every stage turns tables into a table."""
