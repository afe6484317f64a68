"""Runs and judgments in the files of other tools."""
