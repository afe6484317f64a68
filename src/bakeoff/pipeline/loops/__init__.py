"""Loops that send and time queries, with one or many client threads."""
