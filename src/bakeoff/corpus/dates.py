"""Dates as filters compare them: seconds since 1970, UTC where no zone is written."""

from __future__ import annotations

import datetime

DAY = 86_400


def date_seconds(value: object) -> int:
    """Seconds of a date or time, or of one written in ISO form; a ValueError where it is not one."""
    if isinstance(value, str):
        value = datetime.datetime.fromisoformat(value.strip())
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime.datetime):
        raise ValueError(f"{value!r} is not a date such as 2026-05-01")
    zoned = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
    return int(zoned.timestamp() // 1)


def last_second(value: object) -> int:
    """The last second of a date, which for a day without a time is that of the day."""
    text = str(value).strip()
    return date_seconds(value) + (DAY - 1 if len(text) <= len("2026-05-01") else 0)
