"""Caches values per result, and drops them with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar, cast

from bakeoff.runs.analysis import Result

T = TypeVar("T")


def once_per_result(compute: Callable[[Result], T]) -> Callable[[Result], T]:
    """Compute a function once per result; a global cache would keep the rows of every result alive."""

    @wraps(compute)
    def answer(result: Result) -> T:
        if compute.__name__ not in result.known:
            result.known[compute.__name__] = compute(result)
        return cast(T, result.known[compute.__name__])

    return answer
