"""Dates for filters: seconds since 1970, in UTC if no zone is given."""

from __future__ import annotations

import datetime

DAY = 86_400


def date_seconds(value: object) -> int:
    """Seconds of a date or time, or of its ISO form; raises ValueError otherwise."""
    if isinstance(value, str):
        value = datetime.datetime.fromisoformat(value.strip())
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime.datetime):
        raise ValueError(f"{value!r} is not a date such as 2026-05-01")
    zoned = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
    return int(zoned.timestamp() // 1)


def last_second(value: object) -> int:
    """Last second of a date; for a day without a time, the last of the day."""
    text = str(value).strip()
    return date_seconds(value) + (DAY - 1 if len(text) <= len("2026-05-01") else 0)
