"""The stages of a run, one module each: tables in, table out."""
