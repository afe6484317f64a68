"""Queries with truth from other tools' files, with a record of where every field went."""
