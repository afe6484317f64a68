"""Runs in the files of the source systems, named and shaped as they name and shape them."""
