"""The sections of a report, as frozen rows."""
