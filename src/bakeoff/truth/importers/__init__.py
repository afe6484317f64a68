"""Imports queries with truth from other tools' files, recording where every field went."""
