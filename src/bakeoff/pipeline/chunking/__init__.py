"""Splits documents into chunks, in parallel processes where that saves time."""
